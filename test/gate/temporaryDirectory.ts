import { chmodSync, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { freemem, tmpdir } from "node:os";
import { join } from "node:path";

/** Where Linux has files in memory. */
const MEMORY_DIRECTORY = "/dev/shm";
/** More than all test files that run at once keep there. */
const MEMORY_BYTES_MIN = 6 * 1024 ** 3;

function hasRoom(): boolean {
  try {
    const { bavail, bsize } = statfsSync(MEMORY_DIRECTORY);
    return Math.min(bavail * bsize, freemem()) >= MEMORY_BYTES_MIN;
  } catch {
    return false;
  }
}

/**
 * Makes a directory for what tests write, which goes when this process ends: in memory where there is room, because
 * logs wait for the disk at every write.
 */
export function makeTemporaryDirectory(): string {
  const directory = mkdtempSync(join(hasRoom() ? MEMORY_DIRECTORY : tmpdir(), "postledger-tests-"));
  // Tests that act as another user get to what they have given them.
  chmodSync(directory, 0o711);
  process.on("exit", () => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
