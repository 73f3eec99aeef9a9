import { expect, test } from "bun:test";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { flushOpenFile } from "../../../src/adapters/sqlite/append/flushOpenFile.ts";

test.skipIf(process.platform !== "linux")(
  "a file is flushed through a descriptor that the process already has open",
  () => {
    const folder = mkdtempSync(join(tmpdir(), "flush-open-"));
    const path = join(folder, "log.db");
    expect(flushOpenFile(path)).toBeFalse();
    writeFileSync(path, "pages");
    expect(flushOpenFile(path)).toBeFalse();
    const open = openSync(path, "r+");
    expect(flushOpenFile(path)).toBeTrue();
    closeSync(open);
    expect(flushOpenFile(path)).toBeFalse();
    rmSync(folder, { recursive: true });
  },
);
