import { expect, test } from "bun:test";
import { closeSync, openSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { flushOpenFile } from "../../../src/adapters/sqlite/append/flushOpenFile.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";

test.skipIf(process.platform !== "linux")(
  "a file is flushed through a descriptor that the process already has open",
  () => {
    const folder = temporaryFolder();
    const path = join(folder, "log.db");
    expect(flushOpenFile(path)).toBeFalse();
    writeFileSync(path, "pages");
    expect(flushOpenFile(path)).toBeFalse();
    const open = openSync(path, "r+");
    expect(flushOpenFile(path)).toBeTrue();
    closeSync(open);
    expect(flushOpenFile(path)).toBeFalse();
  },
);
