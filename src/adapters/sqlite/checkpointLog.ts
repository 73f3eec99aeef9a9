import type { DatabaseSync } from "node:sqlite";
import { flushOpenFile } from "./append/flushOpenFile.ts";

/** From so many pages on the write-ahead log begins anew: 24 MB, which full load writes in half a second. */
const RESTART_PAGES = 6_000;
/** How long it waits for those who read or write just then. */
const RESTART_WAIT_MS = 20;

/**
 * Checkpoints the log: moves what was committed into its file, and from {@link RESTART_PAGES} on has the write-ahead log
 * begin anew. Throws what SQLite throws.
 */
export function checkpointLog(db: DatabaseSync, path: string): void {
  if (moveCommitted(db) >= RESTART_PAGES) restartWriteAheadLog(db, path);
}

/** Moves everything into the file and cuts the write-ahead log to nothing; false while somebody needs it. */
export function cutWriteAheadLog(db: DatabaseSync): boolean {
  return Number(db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy) === 0;
}

/** Moves what was committed into the file, as far as nobody has to wait for it. Answers the pages of the write-ahead log. */
function moveCommitted(db: DatabaseSync): number {
  return Number(db.prepare("PRAGMA wal_checkpoint(PASSIVE)").get()?.log);
}

/**
 * Has the next append begin the write-ahead log anew. For that, SQLite moves what has come since, and flushes all that was
 * moved, while writers wait: so nearly all of it is moved and flushed before. Appends that never pause would never begin
 * it anew, and in the end a commit would have to move all of it. Left to the next time when somebody is in the way for too
 * long.
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
