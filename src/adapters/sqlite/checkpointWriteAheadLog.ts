import type { DatabaseSync } from "node:sqlite";
import { flushOpenFile } from "./append/flushOpenFile.ts";

/** The size from which the write-ahead log restarts: 24 MB, which full load writes in half a second. */
const RESTART_PAGES = 6_000;
/** How long a restart waits for current readers and writers. */
const RESTART_WAIT_MS = 20;

/**
 * Checkpoints the log: copies committed pages into its file and, from {@link RESTART_PAGES} on, restarts the
 * write-ahead log. Throws what SQLite throws.
 */
export function checkpointWriteAheadLog(db: DatabaseSync, path: string): void {
  if (moveCommitted(db) >= RESTART_PAGES) restartWriteAheadLog(db, path);
}

/** Copies all committed pages into the file and empties the write-ahead log; false while somebody needs it. */
export function emptyWriteAheadLog(db: DatabaseSync): boolean {
  return Number(db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy) === 0;
}

/** Copies committed pages into the file without making anybody wait. Returns the write-ahead log's size in pages. */
function moveCommitted(db: DatabaseSync): number {
  return Number(db.prepare("PRAGMA wal_checkpoint(PASSIVE)").get()?.log);
}

/**
 * Makes the next append write at the start of the write-ahead log again. Writers wait while SQLite copies what came
 * since the last checkpoint and flushes the file, so we copy and flush nearly all of it beforehand. Without this,
 * appends that never pause would never restart it, and in the end one commit would have to copy all of it. Gives up
 * until the next time if a reader or writer is in the way for too long.
 */
function restartWriteAheadLog(db: DatabaseSync, path: string): void {
  flushOpenFile(path);
  moveCommitted(db);
  db.exec(`PRAGMA busy_timeout = ${RESTART_WAIT_MS}`);
  try {
    db.exec("PRAGMA wal_checkpoint(RESTART)");
  } finally {
    db.exec("PRAGMA busy_timeout = 0");
  }
}
