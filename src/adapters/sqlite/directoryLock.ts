import { accessSync, constants, existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** Held by the one process that owns a data directory. */
export interface DirectoryLock extends Disposable {
  release(): void;
}

const LOCK_FILE = "lock.db";
const SQLITE_BUSY = 5;
/** Whoever looks whether it is taken holds it for a moment, and so does a service that ends just now. */
const WAIT_MS_MAX = 1_000;

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
  if (isBusy(db, `PRAGMA busy_timeout = ${WAIT_MS_MAX}; BEGIN EXCLUSIVE`)) {
    db.close();
    return null;
  }
  const release = () => db.close();
  return { release, [Symbol.dispose]: release };
}

/** Whether a process has the lock of a data directory. Makes nothing where there is none; several may look at once. */
export function isDirectoryLocked(directory: string): boolean {
  const path = lockPathOf(directory);
  if (!existsSync(path)) return false;
  const db = new DatabaseSync(path, { readOnly: true });
  const isLocked = isBusy(db, "PRAGMA busy_timeout = 0; SELECT 1 FROM sqlite_schema");
  db.close();
  return isLocked;
}

/** Whether the lock that statements need is another process's. Closes the database where they fail otherwise. */
function isBusy(db: DatabaseSync, statements: string): boolean {
  try {
    db.exec(statements);
    return false;
  } catch (error) {
    if ((error as { errcode?: number }).errcode === SQLITE_BUSY) return true;
    db.close();
    throw error;
  }
}
