import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { cpSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type DirectoryLock, lockDirectory, lockPathOf } from "../../../src/adapters/sqlite/directoryLock.ts";
import { serviceIdFile } from "../../../src/adapters/system/serviceIdFile.ts";

const parent = mkdtempSync(join(tmpdir(), "postledger-service-id-"));
const held: DirectoryLock[] = [];
let dataDir: string;

/** What a service finds that starts on a data directory, having taken its lock. */
function startOn(directory: string, bootId: string | null = "this boot") {
  const lock = lockDirectory(directory);
  if (lock === null) throw new Error("another one has the lock");
  held.push(lock);
  const place = { path: join(directory, "service.id"), lockPath: lockPathOf(directory) };
  return serviceIdFile({ ...place, bootId: () => bootId });
}

function endAll(): void {
  for (const lock of held.splice(0)) lock.release();
}

beforeEach(() => {
  endAll();
  dataDir = mkdtempSync(join(parent, "data-"));
  startOn(dataDir).remember("first");
});
afterAll(() => {
  endAll();
  rmSync(parent, { recursive: true });
});

describe("the service that was on a data directory before is known to have ended", () => {
  test("by whoever gets its lock there", () => {
    endAll();
    const next = startOn(dataDir);
    expect(next.previous()).toBe("first");
    next.remember("second");
    expect(next.previous()).toBe("second");
    next.forget();
    expect(next.previous()).toBeNull();
  });

  test("and not on a copy of the directory, made while it runs", () => {
    const copy = join(parent, "copy");
    cpSync(dataDir, copy, { recursive: true, preserveTimestamps: true });
    expect(startOn(copy).previous()).toBeNull();
  });

  test("and not on another machine, which has a snapshot of the volume: there the files are the same", () => {
    endAll();
    expect(startOn(dataDir, "another boot").previous()).toBeNull();
  });

  test("and not where nobody can tell the machine", () => {
    endAll();
    const next = startOn(dataDir, null);
    next.remember("second");
    expect(next.previous()).toBeNull();
  });

  test.each(["", ".old"])("and not while it runs and its lock was taken away (lock.db%s)", (suffix) => {
    // It still holds the lock of the file that has no name any more.
    if (suffix === "") rmSync(lockPathOf(dataDir));
    else renameSync(lockPathOf(dataDir), lockPathOf(dataDir) + suffix);
    expect(startOn(dataDir).previous()).toBeNull();
  });

  test.each(["", "null", "7", "{", '{"serviceId":"first"}'])("and not by a file that says %p", (text) => {
    endAll();
    writeFileSync(join(dataDir, "service.id"), text);
    expect(startOn(dataDir).previous()).toBeNull();
  });
});
