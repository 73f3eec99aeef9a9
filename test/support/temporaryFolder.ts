import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { atEndOfTests } from "./endOfTests.ts";

/** A new folder that is removed after the last test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "postledger-test-"));
  atEndOfTests(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
