import { describe, expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { PLANTS, WEBHOOK_PLANTS } from "./faults/crash/plants.ts";
import { SECOND_VERSION } from "./faults/log/releases.ts";
import { FUZZ_PLANTS } from "./fuzz/plants.ts";
import { houseFaults, type SourceFile } from "./gate/layers.ts";
import { hasDefaultExport, moduleReferences } from "./gate/sourceText.ts";

/** All source is read, and the cores may be shared. */
setDefaultTimeout(60_000);
const ROOT = join(import.meta.dir, "..");
/** More than these in one folder, and nobody finds a file by looking. */
const FOLDER_FILES_MAX = 18;

function sourceFiles(): readonly SourceFile[] {
  const paths = [
    ...new Bun.Glob("{src,projections,test}/**/*.{ts,tsx,mts,cts,js,mjs,cjs}").scanSync({ cwd: ROOT }),
  ];
  return paths.sort().map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}

describe("the house", () => {
  const files = sourceFiles();

  test("has its source files where they are looked for", () => {
    const folders = new Set(files.map(({ path }) => path.split("/").slice(0, 2).join("/")));
    for (const folder of ["src/kernel", "src/domain", "src/adapters", "src/http", "projections/emails"])
      expect(folders).toContain(folder);
    expect(files.length).toBeGreaterThan(100);
  });

  test("keeps its own rules", () => {
    expect(files.flatMap(houseFaults)).toEqual([]);
  });

  test("has every line that a planted fault changes", () => {
    const ofReleases = Object.fromEntries(SECOND_VERSION.map((plant) => [plant.from, plant]));
    const plants = { ...PLANTS, ...WEBHOOK_PLANTS, ...FUZZ_PLANTS, ...ofReleases };
    const texts = new Map(files.map(({ path, text }) => [path, text]));
    const lost = Object.values(plants).filter(({ file, from }) => !texts.get(file)?.includes(from));
    const remedy =
      "change `from`, and `to` with it, in test/faults/{crash/plants,log/releases}.ts or test/fuzz/plants.ts";
    expect(
      lost.map(({ file, from }) => `${file} no longer holds ${JSON.stringify(from)}: ${remedy}`),
    ).toEqual([]);
  });

  test("has no folder of source that holds too many files", () => {
    const counts = new Map<string, number>();
    for (const { path } of files.filter((file) => !file.path.startsWith("test/")))
      counts.set(dirname(path), (counts.get(dirname(path)) ?? 0) + 1);
    const full = [...counts].filter(([, count]) => count > FOLDER_FILES_MAX);
    expect(full.map(([folder, count]) => `${folder} holds ${count} files, over ${FOLDER_FILES_MAX}`)).toEqual(
      [],
    );
  });

  test("is really read: most files outside of the kernel import one of ours", () => {
    const importing = files.filter(({ text }) =>
      moduleReferences(text).some(({ specifier }) => specifier?.startsWith(".")),
    );
    expect(importing.length).toBeGreaterThan(files.length * 0.7);
  });
});

describe("the parser finds", () => {
  test.each([
    ['import { a } from "x";', "import", "x"],
    ['import type { A } from "x";', "import", "x"],
    ['import a, {\n  type B,\n  c as d, // from "z"\n} from "x";', "import", "x"],
    ['import * as a from "x"', "import", "x"],
    ["import 'x';", "import", "x"],
    ['import data from "x" with { type: "json" };', "import", "x"],
    ['export * from "x";', "export", "x"],
    ['export * as a from "x";', "export", "x"],
    ['export { a, b as c } from "x";', "export", "x"],
    ['export type { A } from "x";', "export", "x"],
    ['export type * from "x";', "export", "x"],
    ['const a = await import("x");', "dynamic", "x"],
    ["const a = import(`x`);", "dynamic", "x"],
    ['type A = import("x").A;', "dynamic", "x"],
    ["const a = import(name);", "dynamic", null],
    [`const a = import(\`x/\${name}\`);`, "dynamic", null],
    [`const a = \`text \${await import("x")} text\`;`, "dynamic", "x"],
    ['const a = require("x");', "require", "x"],
    ['new Worker(new URL("x", import.meta.url).href);', "url", "x"],
    ['const quote = /["`]/; import "x"; const other = /"/;', "import", "x"],
    ['const half = a / b; import "x"; const c = d / e;', "import", "x"],
  ] as const)("%s", (text, kind, specifier) => {
    expect(moduleReferences(text)).toEqual([{ kind, specifier }]);
  });

  test.each([
    '// import { a } from "x";',
    '/* import "x" */',
    "const a = 'import { b } from \"x\"';",
    'const a = `import { b } from "x"`;',
    'const path = import.meta.dir; const b = "x";',
    'export const from = "x";',
    'export { a }; const b = "x";',
    'export type A = "x";',
    'loader.import("x");',
    'const url = new URL("x", base);',
  ])("nothing in %s", (text) => {
    expect(moduleReferences(text).filter(({ kind }) => kind !== "dynamic")).toEqual([]);
  });

  test.each([
    ["export default 1;", true],
    ["export default function a() {}", true],
    ["export { a as default };", true],
    ["switch (a) { default: break; }", false],
    ["// export default 1;", false],
    ["export const a = { default: 1 };", false],
  ])("the default export of %s: %p", (text, expected) => {
    expect(hasDefaultExport(text)).toBe(expected);
  });
});

describe("a planted violation is found:", () => {
  test.each([
    ["src/http/dashboard/a.tsx", "export const a = <p />;", "it does not begin with /** @jsxImportSource"],
    ["src/kernel/a.ts", 'import type { A } from "../ports/a.ts";', "kernel may not import src/ports/a.ts"],
    ["src/kernel/a.ts", 'import { readFile } from "node:fs";', "kernel may not import node:fs"],
    ["src/domain/email/a.ts", 'import type { S } from "../sender/state.ts";', "domain may not import"],
    ["src/domain/email/a.ts", 'import type { C } from "../../ports/clock.ts";', "domain may not import"],
    ["src/domain/email/a.ts", 'import { nanoid } from "nanoid";', "domain may not import nanoid"],
    ["src/ports/a.ts", 'import type { E } from "../domain/email/events.ts";', "ports may not import"],
    ["src/ports/a.ts", 'import type { E } from "@eventstore/db-client";', "ports may not import"],
    ["projections/a.ts", 'import { f } from "../src/domain/email/state.ts";', "projections may not import"],
    ["projections/a.ts", 'import { f } from "../src/ports/eventStore.ts";', "projections may not import"],
    [
      "projections/a.ts",
      'import { f } from "../src/commands/email/send/sendEmail.ts";',
      "projections may not import",
    ],
    [
      "projections/a.ts",
      'import { f } from "../src/reactors/email/mailDeliveryWorker.ts";',
      "projections may not import",
    ],
    [
      "projections/a.ts",
      'const f = await import("../src/reactors/email/mailDeliveryWorker.ts");',
      "may not import",
    ],
    [
      "src/readModels/a.ts",
      'import { f } from "../reactors/email/mailDeliveryWorker.ts";',
      "readModels may not import",
    ],
    [
      "src/readModels/a.ts",
      'type F = import("../reactors/email/mailDeliveryWorker.ts").F;',
      "readModels may not import",
    ],
    [
      "src/readModels/a.ts",
      'import { f } from "../commands/email/sendEmail.ts";',
      "readModels may not import",
    ],
    ["src/readModels/a.ts", 'import { f } from "../adapters/sqlite/readModelDatabase.ts";', "may not import"],
    [
      "src/commands/a.ts",
      'import { f } from "../adapters/sqlite/readModelDatabase.ts";',
      "commands may not import",
    ],
    [
      "src/commands/a.ts",
      'import { f } from "../../projections/emails/mailQueue.ts";',
      "commands may not import",
    ],
    ["src/commands/a.ts", 'import { f } from "../http/server/problem.ts";', "commands may not import"],
    ["src/reactors/a.ts", 'import { f } from "../http/server/problem.ts";', "reactors may not import"],
    ["src/reactors/a.ts", 'import { f } from "../../projections/index.ts";', "reactors may not import"],
    [
      "src/reactors/email/a.ts",
      'import { f } from "../../readModels/followLog.ts";',
      "reactors may not import",
    ],
    ["src/http/a.ts", 'import { f } from "../reactors/email/mailDeliveryWorker.ts";', "http may not import"],
    ["src/http/a.ts", 'import { f } from "../adapters/pino/logger.ts";', "http may not import"],
    [
      "src/http/a.ts",
      'import { c } from "../service/config/config.ts";',
      "http may not import src/service/config/config.ts",
    ],
    [
      "src/adapters/sqlite/a.ts",
      'import { f } from "../directory/a.ts";',
      "an adapter may import its own folder, durableFiles, ports and kernel, but not",
    ],
    [
      "src/adapters/sqlite/a.ts",
      'import { f } from "../../commands/a.ts";',
      "an adapter may import its own folder, durableFiles, ports and kernel, but not",
    ],
    [
      "src/adapters/pino/a.ts",
      'import { f } from "nodemailer";',
      "the adapter pino may not import nodemailer",
    ],
    ["src/adapters/pino/a.ts", 'import { f } from "node:sqlite";', "may not import node:sqlite"],
    [
      "src/adapters/carrier/a.ts",
      'import { f } from "carrier";',
      "the adapter carrier may not import carrier",
    ],
    [
      "src/service/startApp.ts",
      'import { f } from "node:sqlite";',
      "only src/adapters/sqlite may import node:sqlite",
    ],
    [
      "src/service/startApp.ts",
      'import { f } from "../../test/support/until.ts";',
      "nothing outside of test may import",
    ],
    ["src/adapters/sqlite/a.ts", 'import { f } from "bun:sqlite";', "nothing may import bun:sqlite"],
    ["test/support/a.ts", 'const f = await import("bun:sqlite");', "nothing may import bun:sqlite"],
    [
      "src/commands/a.ts",
      'import { c } from "../service/startApp.ts";',
      "commands may not import src/service/startApp.ts",
    ],
    [
      "src/commands/a.ts",
      'import { c } from "../cli/program/command.ts";',
      "commands may not import src/cli/",
    ],
    [
      "src/kernel/a.ts",
      'import { c } from "../service/threads/readModelThread.ts";',
      "kernel may not import",
    ],
    ["src/http/a.ts", "const a = await import(name);", "a module whose name is computed"],
    ["src/other.ts", "", "it belongs to no layer"],
    ["src/other/a.ts", "", "it belongs to no layer"],
    ["src/http/a.ts", "", "src/http holds folders"],
    ["src/commands/invoice/a.ts", "", "src/commands/invoice has no line in the code map"],
    ["src/service/news/a.ts", "", "src/service/news has no line in the code map"],
    ["test/http/invoice/a.test.ts", "", "src/http/invoice has no line in the code map"],
    ["src/domain/a.ts", "", "src/domain holds folders"],
    ["test/http/a.test.ts", "", "test/http holds folders"],
    [
      "src/domain/allEventCodecs.ts",
      'import { f } from "./email/decisions.ts";',
      "lists of events may not import src/domain/email/decisions.ts",
    ],
    ["src/http/index.ts", "", "there are no barrels"],
    ["src/http/a.ts", 'export { f } from "./b.ts";', "there are no barrels"],
    ["src/http/a.ts", 'export type { F } from "./b.ts";', "there are no barrels"],
    ["src/http/a-b.ts", "", "its name is not in camelCase"],
    ["src/http/Server.ts", "", "its name is not in camelCase"],
    ["src/http/a.js", "", "its name is not in camelCase"],
    ["src/http/a.ts", "export default 1;", "it has a default export"],
    ["src/http/a.ts", `// ${"TO"}${"DO"}: later`, "it marks something as unfinished"],
    [
      "src/kernel/a.ts",
      "/** Of b. */\n/** Of a. */\nconst a = 1;",
      "a docstring stands right before another one",
    ],
    ["src/http/home/a.ts", 'type B = import("./b.ts").B;', "write `import type`"],
    ["projections/a.ts", 'const SQL = "SELECT id FROM a LIMIT ?";', "write LIMIT ? + 0"],
    ["projections/a.ts", "const SQL = `SELECT id FROM a LIMIT ?12`;", "write LIMIT ? + 0"],
    ["test/http/a.test.ts", `// ${"FIX"}${"ME"}`, "it marks something as unfinished"],
  ])("%s with %s", (path, text, fault) => {
    expect(houseFaults({ path, text }).join("\n")).toContain(fault);
  });

  test.each([
    ["src/kernel/a.ts", 'import { Type } from "@sinclair/typebox/compiler";'],
    ["src/domain/email/a.ts", 'import { b } from "./b.ts"; import { c } from "../../kernel/c.ts";'],
    ["projections/a.ts", 'import { emailCodec } from "../src/domain/email/events.ts";'],
    ["projections/index.ts", 'import { mailQueue } from "./mailQueue.ts";'],
    ["src/reactors/email/a.ts", 'import { readyEmails } from "../../../projections/emails/mailQueue.ts";'],
    ["src/http/apiKey/a.ts", 'import { SCOPES } from "../../domain/apiKey/scopes.ts";'],
    ["src/http/home/a.ts", 'const { B } = await import("./b.ts");'],
    ["src/adapters/sqlite/a.ts", 'import { DatabaseSync } from "node:sqlite";'],
    ["src/adapters/nodemailer/a.ts", 'import b from "nodemailer/lib/base64";'],
    ["src/adapters/nodemailer/a.ts", 'import { f } from "../durableFiles/a.ts";'],
    ["src/cli/audit/a.ts", 'import { f } from "../../reactors/email/mailDeliveryWorker.ts";'],
    [
      "test/support/a.ts",
      'import { f } from "../../src/service/startApp.ts"; import { g } from "node:sqlite";',
    ],
  ])("and none in %s with %s", (path, text) => {
    expect(houseFaults({ path, text })).toEqual([]);
  });
});
