import { afterAll, beforeEach, describe, expect, test } from "bun:test";
import { cpSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type DirectoryLock, lockDirectory, lockPathOf } from "../../../src/adapters/sqlite/directoryLock.ts";
import { serviceIdFile } from "../../../src/adapters/system/serviceIdFile.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";

const parent = temporaryFolder();
const locks: DirectoryLock[] = [];
let dataDir: string;

/** What a service finds that starts on a data directory, having taken its lock. */
function startOn(directory: string, bootId: string | null = "this boot") {
  const lock = lockDirectory(directory);
  if (lock === null) throw new Error("the lock is held");
  locks.push(lock);
  const location = { path: join(directory, "service.id"), lockPath: lockPathOf(directory) };
  return serviceIdFile({ ...location, bootId: () => bootId });
}

function endAll(): void {
  for (const lock of locks.splice(0)) lock.release();
}

beforeEach(() => {
  endAll();
  dataDir = mkdtempSync(join(parent, "data-"));
  startOn(dataDir).remember("first");
});
afterAll(() => {
  endAll();
});

describe("the id of a data directory's previous service", () => {
  test("is known to the next service that takes the directory's lock", () => {
    endAll();
    const next = startOn(dataDir);
    expect(next.previous()).toBe("first");
    next.remember("second");
    expect(next.previous()).toBe("second");
    next.forget();
    expect(next.previous()).toBeNull();
  });

  test("is unknown on a copy of the directory made while the service runs", () => {
    const copy = join(parent, "copy");
    cpSync(dataDir, copy, { recursive: true, preserveTimestamps: true });
    expect(startOn(copy).previous()).toBeNull();
  });

  test("is unknown on another machine with a snapshot of the volume, though the files are the same", () => {
    endAll();
    expect(startOn(dataDir, "another boot").previous()).toBeNull();
  });

  test("is unknown where the boot id cannot be read", () => {
    endAll();
    const next = startOn(dataDir, null);
    next.remember("second");
    expect(next.previous()).toBeNull();
  });

  test.each(["", ".old"])(
    "is unknown while the service runs and its lock file was removed or renamed (lock.db%s)",
    (suffix) => {
      // It still holds the lock of the file that has no name any more.
      if (suffix === "") rmSync(lockPathOf(dataDir));
      else renameSync(lockPathOf(dataDir), lockPathOf(dataDir) + suffix);
      expect(startOn(dataDir).previous()).toBeNull();
    },
  );

  test.each(["", "null", "7", "{", '{"serviceId":"first"}'])(
    "is unknown when the file contains %p",
    (text) => {
      endAll();
      writeFileSync(join(dataDir, "service.id"), text);
      expect(startOn(dataDir).previous()).toBeNull();
    },
  );
});
