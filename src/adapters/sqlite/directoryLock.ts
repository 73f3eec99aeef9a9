import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Held by the one process that owns a data directory. */
export interface DirectoryLock {
  release(): void;
}

const LOCK_FILE = "lock.db";
const SQLITE_BUSY = 5;

/** The file that is locked. */
export function lockPathOf(directory: string): string {
  return join(directory, LOCK_FILE);
}

/**
 * Takes the lock of a data directory; null when another process has it. The operating system gives it back
 * when its holder dies, however that happens: it is a lock on a file, not a file. Throws where no file can be made.
 */
export function lockDirectory(directory: string): DirectoryLock | null {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  // SQLite would only say that it cannot open a file; this says why.
  accessSync(directory, constants.W_OK | constants.X_OK);
  const db = new DatabaseSync(lockPathOf(directory));
  try {
    db.exec("PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE");
  } catch (error) {
    db.close();
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return null;
    throw error;
  }
  return { release: () => db.close() };
}

/** Whether a process has the lock of a data directory. Makes nothing where there is none. */
export function isDirectoryLocked(directory: string): boolean {
  if (!existsSync(lockPathOf(directory))) return false;
  const lock = lockDirectory(directory);
  lock?.release();
  return lock === null;
}
