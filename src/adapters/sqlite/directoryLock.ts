import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { FOLDER_MODE } from "../../kernel/fileModes.ts";
import { OpenedFile } from "./replacedLogFiles.ts";
import { isBusy } from "./resultCode.ts";

/** The lock held by the one process that owns a data directory. */
export interface DirectoryLock extends Disposable {
  release(): void;
  /** Whether another process would meet it: the path still leads to the file that is locked. */
  isInPlace(): boolean;
}

export const LOCK_FILE = "lock.db";
/** How long to wait: a process that checks the lock holds it for a moment, and so does a service about to end. */
const WAIT_MS_MAX = 1_000;

export function lockPathOf(directory: string): string {
  return join(directory, LOCK_FILE);
}

/**
 * Acquires the lock of a data directory; null when another process holds it. It is a lock on a file, so the operating
 * system releases it however its holder dies. Throws if the file cannot be created.
 */
export function lockDirectory(directory: string): DirectoryLock | null {
  mkdirSync(directory, { recursive: true, mode: FOLDER_MODE });
  // SQLite would only say that it cannot open a file; this says why.
  accessSync(directory, constants.W_OK | constants.X_OK);
  const path = lockPathOf(directory);
  // Of a file that it may only read, SQLite would let two processes hold the lock.
  if (existsSync(path)) accessSync(path, constants.R_OK | constants.W_OK);
  const db = new DatabaseSync(path);
  // Nothing is written to it, and a journal on the disk would need room.
  if (isRefused(db, `PRAGMA busy_timeout = ${WAIT_MS_MAX}; PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE`)) {
    db.close();
    return null;
  }
  const release = () => db.close();
  const file = new OpenedFile(path);
  return { release, isInPlace: () => file.isInPlace(), [Symbol.dispose]: release };
}

/** Whether a process holds the lock of a data directory. Creates no file; several processes may check at once. */
export function isDirectoryLocked(directory: string): boolean {
  const path = lockPathOf(directory);
  if (!existsSync(path)) return false;
  const db = new DatabaseSync(path, { readOnly: true });
  const isLocked = isRefused(db, "PRAGMA busy_timeout = 0; SELECT 1 FROM sqlite_schema");
  db.close();
  return isLocked;
}

/** Whether the statements fail because another process holds the lock. Closes the database on any other error. */
function isRefused(db: DatabaseSync, statements: string): boolean {
  try {
    db.exec(statements);
    return false;
  } catch (error) {
    if (isBusy(error)) return true;
    db.close();
    throw error;
  }
}
