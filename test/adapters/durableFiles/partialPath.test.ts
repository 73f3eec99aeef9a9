import { expect, test } from "bun:test";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { writeCompressedFile } from "../../../src/adapters/durableFiles/compressedLineFile.ts";
import { createDirectoryAtomically } from "../../../src/adapters/durableFiles/createDirectoryAtomically.ts";
import { nameWhenComplete } from "../../../src/adapters/durableFiles/partialPath.ts";
import { writeLines } from "../../../src/cli/output/jsonAndCsvRows.ts";
import { ROOT } from "../../support/root.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";
import { until } from "../../support/until.ts";

const folder = temporaryFolder();

const never = "() => new Promise(() => setInterval(() => {}, 1_000))";
const endlessText = `(async function* () { yield "some"; await (${never})(); })()`;

async function* completeText() {
  yield "complete";
}

/** Each way to write what appears only when it is complete: one that never ends, and one that does. */
const WAYS: Readonly<
  Record<string, { readonly endless: string; readonly write: (path: string) => Promise<unknown> }>
> = {
  "a directory": {
    endless: `(await import("${ROOT}/src/adapters/durableFiles/createDirectoryAtomically.ts")).createDirectoryAtomically(path, ${never})`,
    write: (path) => createDirectoryAtomically(path, (inside) => Bun.write(join(inside, "a"), "complete")),
  },
  "a compressed file": {
    endless: `(await import("${ROOT}/src/adapters/durableFiles/compressedLineFile.ts"))
      .writeCompressedFile(path, ${endlessText})`,
    write: (path) => writeCompressedFile(path, completeText()),
  },
  "a file of rows": {
    endless: `(await import("${ROOT}/src/cli/output/jsonAndCsvRows.ts")).writeLines(path, ${endlessText})`,
    write: (path) => writeLines(path, completeText()),
  },
};

const partials = async (name: string) =>
  (await readdir(folder)).filter((one) => one.includes(`${name}.`) && one.endsWith(".partial"));

/** A process that has begun to write and does not end. Returns what it has in the folder, too. */
async function writer(name: string, endless: string) {
  const known = new Set(await partials(name));
  const script = `const path = ${JSON.stringify(join(folder, name))}; await ${endless};`;
  const child = Bun.spawn([process.execPath, "-e", script], {
    cwd: "/",
    stdout: "inherit",
    stderr: "inherit",
  });
  const added = async () => (await partials(name)).filter((one) => !known.has(one));
  await until(async () => (await added()).length === 1, "the process to begin");
  return { child, partial: (await added())[0] ?? "" };
}

// Only Linux tells by /proc whether a writer still lives.
const onLinux = test.skipIf(process.platform !== "linux");

onLinux.each(Object.entries(WAYS))(
  "%s: what a dead process has left is removed, what a living one writes stays",
  async (kind, { endless, write }) => {
    const name = kind.replaceAll(" ", "-");
    const dead = await writer(name, endless);
    dead.child.kill("SIGKILL");
    await dead.child.exited;
    const living = await writer(name, endless);
    try {
      expect(await partials(name)).toEqual([living.partial]);
      const others = ["0123456789abcdef-1", "mine"].map((id) => `${name}.${id}.partial`);
      for (const other of others) await Bun.write(join(folder, other), "not ours");
      await write(join(folder, name));
      expect((await partials(name)).sort()).toEqual([living.partial, ...others].sort());
      for (const other of others) expect(await readFile(join(folder, other), "utf8")).toBe("not ours");
    } finally {
      living.child.kill("SIGKILL");
      await living.child.exited;
    }
  },
  30_000,
);

test("a write that fails is reported even if closing the file fails too", async () => {
  const written = nameWhenComplete(join(folder, "twice"), async () => {
    await using _file = {
      async [Symbol.asyncDispose]() {
        throw new Error("the close failed");
      },
    };
    throw new Error("the write failed");
  });
  expect(await written.catch((error: Error) => error.message)).toBe("the write failed");
});
