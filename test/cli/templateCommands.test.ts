import { beforeAll, describe, expect, test } from "bun:test";
import { mkdir, readdir, rm, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { partialPath } from "../../src/adapters/durableFiles/partialPath.ts";
import { reportPush } from "../../src/cli/template/reportPush.ts";
import { partOf, templateFiles } from "../../src/cli/template/templateFiles.ts";
import { VERSION_BYTES_MAX } from "../../src/domain/template/templateLimits.ts";
import { comparableContent } from "../../src/domain/template/versionContent.ts";
import { StoreError } from "../../src/ports/eventStore.ts";
import { runCalls } from "../support/process/runCalls.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

const TEST_MS_MAX = 60_000;

test("what a pull writes is what it read, for the push after it (property)", () => {
  const part = fc.option(fc.string({ unit: fc.constantFrom("\r", "\n", "\uFEFF", "a", "é"), minLength: 1 }));
  fc.assert(
    fc.property(part, part, (html, text) => {
      const content = { subject: "s", html, text, variables: [] };
      const files = templateFiles("n", content);
      const [htmlFile, textFile] = ["html.liquid", "text.liquid"].map((name) => files.get(name));
      const read = {
        ...content,
        html: htmlFile === undefined ? null : partOf(htmlFile),
        text: textFile === undefined ? null : partOf(textFile),
      };
      expect(comparableContent(read)).toBe(comparableContent(content));
    }),
  );
});

test("what a pull writes of the largest version is no larger than a push takes, and has a line for each variable", () => {
  const zeros = { name: "zeros", type: "list", required: false, default: new Array(90_000).fill(0) } as const;
  const order = { name: "order", type: "number", required: true } as const;
  const content = { subject: '"s"', html: null, text: "t", variables: [order, zeros] };
  const settings = templateFiles("n", content).get("template.json") ?? "";
  expect(settings.length).toBeLessThan(VERSION_BYTES_MAX);
  expect(settings.split("\n").slice(0, 5)).toEqual([
    "{",
    '  "name": "n",',
    String.raw`  "subject": "\"s\"",`,
    '  "variables": [',
    '    {"name":"order","type":"number","required":true},',
  ]);
  const { required: _, ...written } = zeros;
  expect(JSON.parse(settings)).toEqual({ name: "n", subject: '"s"', variables: [order, written] });
  const without = templateFiles("n", { ...content, variables: [] }).get("template.json") ?? "";
  expect(JSON.parse(without)).toEqual({ name: "n", subject: '"s"', variables: [] });
});

test("a push that fails half-way says which templates are pushed, and why the others are not", () => {
  const printed: unknown[][] = [];
  const report = () =>
    reportPush(
      {
        pushed: [{ alias: "a", changes: ["TemplateVersionDrafted"], number: 950, versionsLeft: 50 }],
        unpushed: [
          { alias: "b", reason: "archived" },
          { alias: "c", reason: new StoreError("unavailable", "the store is away") },
          { alias: "d", reason: "notTried" },
        ],
      },
      { isDryRun: false, print: (...call) => printed.push(call) },
    );
  const archived = "is archived for good: delete it and push again, or choose another alias";
  expect(report).toThrow(
    `the others were pushed, but not these:\n  b: ${archived}\n  c: the store is away\n  d: was not tried`,
  );
  const value = {
    templates: [{ alias: "a", version: 950, changes: ["drafted"], versions_left: 50 }],
    not_pushed: [
      { alias: "b", reason: archived },
      { alias: "c", reason: "the store is away" },
      { alias: "d", reason: "was not tried" },
    ],
  };
  expect(printed).toEqual([[value, ["a: drafted (version 950, room for 50 more)"]]]);
});

test("a push of which nothing succeeds says that, and prints no result", () => {
  const unpushed = [{ alias: "b", reason: "archived" } as const];
  const print = () => expect.unreachable();
  expect(() => reportPush({ pushed: [], unpushed }, { isDryRun: false, print })).toThrow(
    "nothing was pushed:\n  b:",
  );
});

describe("templates kept as files", () => {
  const folder = temporaryFolder();
  beforeAll(async () => {
    await call("workspace", "create", "Acme");
  });

  async function call(...words: readonly string[]) {
    const env = { DATA_DIR: join(folder, "data"), DISK_FREE_BYTES_MIN: "0" };
    const [result] = await runCalls([{ words, cwd: folder, env }]);
    if (result === undefined) throw new Error("no result");
    return result;
  }
  const write = (files: Readonly<Record<string, string | object>>) =>
    Promise.all(
      Object.entries(files).map(([path, text]) =>
        Bun.write(join(folder, path), typeof text === "string" ? text : JSON.stringify(text)),
      ),
    );
  const push = (...words: readonly string[]) => call("template", "push", ...words);

  test(
    "are created, then only what changes is published, and a revert publishes the earlier version",
    async () => {
      await write({
        "mail/README.md": "notes",
        "mail/.git/HEAD": "ref",
        "mail/order.shipped/template.json": {
          name: "Order shipped",
          subject: "Order {{ order }}",
          variables: [{ name: "order", type: "number", required: true }],
        },
        "mail/order.shipped/html.liquid": "<p>{{ order }}</p>\n",
        "mail/order.shipped/text.liquid": "{{ order }}\n",
        "mail/order.shipped/notes.txt": "notes",
        "mail/welcome/template.json": { name: "Welcome", subject: "Welcome" },
        "mail/welcome/text.liquid": "Hello.\n",
      });
      const created =
        "order.shipped: created, drafted, published (version 1)\nwelcome: created, drafted, published (version 1)\n";
      expect(await push("mail", "--dry-run")).toEqual({
        status: 0,
        out: `nothing was pushed; without --dry-run:\n${created}`,
        err: "",
      });
      expect(await push("mail")).toEqual({ status: 0, out: created, err: "" });
      expect((await push("mail")).out).toBe(
        "order.shipped: unchanged (version 1)\nwelcome: unchanged (version 1)\n",
      );
      await write({ "mail/order.shipped/text.liquid": "Order {{ order }}\r\n" });
      expect((await push("mail")).out).toBe(
        "order.shipped: drafted, published (version 2)\nwelcome: unchanged (version 1)\n",
      );
      await write({ "mail/order.shipped/text.liquid": "Order {{ order }}\n" });
      expect((await push("mail")).out).toBe(
        "order.shipped: unchanged (version 2)\nwelcome: unchanged (version 1)\n",
      );
      await write({ "mail/order.shipped/text.liquid": "{{ order }}\n" });
      expect((await push("mail")).out).toStartWith("order.shipped: published (version 1)\n");
    },
    TEST_MS_MAX,
  );

  test("stay drafts if that is wanted, and are renamed", async () => {
    await write({
      "drafts/drafted/template.json": { name: "Draft", subject: "s" },
      "drafts/drafted/html.liquid": "<p>1</p>",
    });
    expect((await push("drafts", "--no-publish")).out).toBe("drafted: created, drafted (version 1)\n");
    expect((await push("drafts", "--no-publish")).out).toBe("drafted: unchanged (version 1)\n");
    await write({ "drafts/drafted/template.json": { name: "Renamed", subject: "s" } });
    expect(JSON.parse((await push("drafts", "--json")).out)).toEqual({
      templates: [{ alias: "drafted", version: 1, changes: ["renamed", "published"] }],
      not_pushed: [],
    });
  });

  test("are refused together, with file and place, and nothing is pushed", async () => {
    await write({
      "wrong/good/template.json": { name: "Good", subject: "s" },
      "wrong/good/text.liquid": "text",
      "wrong/a\npostledger: done/template.json": {},
      "wrong/Bad/template.json": {},
      "wrong/empty/notes.txt": "",
      "wrong/json/template.json": '{\n"name": }',
      "wrong/liquid/template.json": { name: "n", subject: "{{ a }}", text: "t", varables: [] },
      "wrong/long/template.json": { name: "n", subject: "s" },
      "wrong/long/html.liquid": "x".repeat(600_000),
      "wrong/name/template.json": { name: "\u0007", subject: "s" },
      "wrong/name/text.liquid": "text",
      "wrong/parts/template.json": { name: "n", subject: "{{ a }}", text: "t" },
      "wrong/spelt/template.json": { name: "n", subject: "s" },
      "wrong/spelt/htm.liquid": "text",
      "wrong/twice/template.json":
        '{"name":"n","subject":"s","variables":[{"name":"a","name":"b","type":"date"}]}',
      "wrong/unclosed/template.json": { name: "n", subject: "{{ a }}" },
      "wrong/unknown/template.json": { name: "n", subject: "s", variabls: [] },
      "wrong/unknown/text.liquid": "text",
      "wrong/unclosed/text.liquid": "one\n{% if b %}",
    });
    await mkdir(join(folder, "wrong/utf8"));
    await write({ "wrong/utf8/template.json": { name: "n", subject: "s" } });
    await Bun.write(join(folder, "wrong/utf8/text.liquid"), new Uint8Array([0xff]));
    await symlink("/etc/hostname", join(folder, "wrong/good/html.liquid"));
    await symlink("good", join(folder, "wrong/linked"));
    const { status, out, err } = await push("wrong");
    expect({ status, out }).toEqual({ status: 1, out: "" });
    const lines = err
      .trimEnd()
      .split("\n")
      .map((line) => line.replace(/^postledger: +/, ""));
    expect(lines).toEqual([
      "nothing was pushed:",
      expect.stringContaining("Bad: its name, which is the alias of the template, must be 1 to 64"),
      expect.stringContaining(String.raw`a\u000apostledger: done: its name, which is the alias`),
      "empty/template.json: is missing",
      "good/html.liquid: is not a regular file, and links are not followed",
      expect.stringContaining("json/template.json: is not JSON: line 2, column 9"),
      "linked: is not a folder, and links are not followed",
      "liquid/template.json: has /text, which belongs in text.liquid",
      "long/html.liquid: has more than 524 kB",
      expect.stringContaining("name/template.json: /name must have visible characters"),
      "parts/template.json: has /text, which belongs in text.liquid",
      "spelt/htm.liquid: is not one of template.json, html.liquid, text.liquid",
      "twice/template.json: has /variables/0/name more than once",
      expect.stringContaining("unclosed/template.json: /subject uses a in line 1"),
      expect.stringContaining("unclosed/text.liquid: tag {% if b %} not closed, line:2"),
      "unknown/template.json: /variabls is not known here: did you mean variables?",
      "utf8/text.liquid: is not UTF-8",
    ]);
    expect((await call("template", "pull", "none", "good")).status).toBe(1);
  });

  test("are refused where there are none or too many", async () => {
    await mkdir(join(folder, "none-here"));
    expect((await push("none-here")).err).toContain("holds no template");
    expect((await push("nowhere")).err).toContain("nowhere cannot be read (ENOENT)");
    const many = Array.from({ length: 1_001 }, (_, index) => join(folder, "many", `t${index}`));
    await Promise.all(many.map((path) => mkdir(path, { recursive: true })));
    expect((await push("many")).err).toContain("holds more than 1,000 folders");
  });

  test("are written by a pull, which goes on where another one failed, and changes no folder", async () => {
    // What a pull leaves that is killed: no process has this id.
    const partial = partialPath(join(folder, "pulled", ".welcome")).replace(
      `-${process.pid}-`,
      "-999999999-",
    );
    await mkdir(partial, { recursive: true });
    const pulled = await call("template", "pull", "pulled", "welcome", "order.shipped");
    expect(pulled.out).toBe("order.shipped: version 1\nwelcome: version 1\n");
    expect((await readdir(join(folder, "pulled"), { recursive: true })).toSorted()).toEqual([
      "order.shipped",
      "order.shipped/html.liquid",
      "order.shipped/template.json",
      "order.shipped/text.liquid",
      "welcome",
      "welcome/template.json",
      "welcome/text.liquid",
    ]);
    expect((await push("pulled")).out).toBe(
      "order.shipped: unchanged (version 1)\nwelcome: unchanged (version 1)\n",
    );
    await write({ "pulled/welcome/text.liquid": "Changed.\n" });
    expect(await call("template", "pull", "pulled")).toEqual({
      status: 1,
      out: "",
      err: [
        "postledger: nothing was written, because it would change these:",
        "postledger:   pulled/welcome",
        "Pull into a new folder to compare them.\n",
      ].join("\n"),
    });
    expect((await readdir(join(folder, "pulled"))).length).toBe(2);
    await write({ "pulled/welcome/text.liquid": "Hello.\n", "pulled/welcome/notes.txt": "notes" });
    expect((await call("template", "pull", "pulled")).out).toBe(
      "order.shipped: unchanged, version 1\nwelcome: unchanged, version 1\ndrafted: version 1\n",
    );
    await write({ "pulled/welcome/txt.liquid": "misspelt" });
    expect((await call("template", "pull", "pulled")).err).toContain("pulled/welcome");
    await rm(join(folder, "pulled/welcome/txt.liquid"));
    await mkdir(join(folder, "linked"));
    await symlink("nowhere", join(folder, "linked", "welcome"));
    expect((await call("template", "pull", "linked")).err).toContain("linked/welcome");
    expect(await readdir(join(folder, "linked"))).toEqual(["welcome"]);
    const all = JSON.parse((await call("template", "pull", "all", "--json")).out);
    const modes = ["all", "all/welcome", "all/welcome/text.liquid"].map(async (path) => {
      return (await stat(join(folder, path))).mode & 0o777;
    });
    const umask = process.umask();
    expect(await Promise.all(modes)).toEqual([0o777 & ~umask, 0o777 & ~umask, 0o666 & ~umask]);
    expect(all.templates).toEqual(
      ["order.shipped", "welcome", "drafted"].map((alias) => ({ alias, version: 1, written: true })),
    );
    expect((await call("template", "pull", "all-2", "unknown")).err).toContain(
      "there is no published template unknown",
    );
  });
});
