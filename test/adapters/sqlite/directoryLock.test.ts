import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isDirectoryLocked, lockDirectory, lockPathOf } from "../../../src/adapters/sqlite/directoryLock.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";

const parent = temporaryFolder();
const MODULE = new URL("../../../src/adapters/sqlite/directoryLock.ts", import.meta.url).href;
let directory: string;
const children: Bun.Subprocess[] = [];

beforeEach(() => {
  directory = mkdtempSync(join(parent, "data-"));
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill("SIGKILL");
    await child.exited;
  }
});

/** Starts a process that runs `statements` on the directory; resolves once it has printed "begun". */
async function another(statements: string) {
  const script = `import { lockDirectory } from "${MODULE}"; const directory = ${JSON.stringify(directory)}; ${statements}`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
  children.push(child);
  const { value } = await child.stdout.getReader().read();
  expect(new TextDecoder().decode(value)).toBe("begun\n");
  return child;
}

test("one process holds a lock until it releases it or dies", async () => {
  expect(isDirectoryLocked(directory)).toBe(false);
  const child = await another(
    'globalThis.lock = lockDirectory(directory); console.log("begun"); setInterval(() => {}, 1_000);',
  );
  expect(isDirectoryLocked(directory)).toBe(true);
  expect(lockDirectory(directory)).toBeNull();
  child.kill("SIGKILL");
  await child.exited;
  expect(isDirectoryLocked(directory)).toBe(false);
  const lock = lockDirectory(directory);
  expect(lock).not.toBeNull();
  expect(isDirectoryLocked(directory)).toBe(true);
  lock?.release();
});

test("a process that only reads the lock file does not count as holding the lock", () => {
  lockDirectory(directory)?.release();
  const looking = new DatabaseSync(lockPathOf(directory), { readOnly: true });
  looking.exec("BEGIN; SELECT 1 FROM sqlite_schema");
  expect(isDirectoryLocked(directory)).toBe(false);
  looking.close();
});

test("taking a lock waits for a holder that releases it soon", async () => {
  await another(
    'const lock = lockDirectory(directory); console.log("begun"); setTimeout(() => lock.release(), 200);',
  );
  const lock = lockDirectory(directory);
  expect(lock).not.toBeNull();
  lock?.release();
});
