import { DatabaseSync } from "node:sqlite";

/** Marks the file as ours: "PLdg" in ASCII. */
const APPLICATION_ID = 0x504c6467;
const SCHEMA_VERSION = 1;
/**
 * Pages in the write-ahead log before a commit moves them into the file itself. Whoever follows the log does it
 * long before, in a thread that nobody waits for, so that little is left for the commit.
 */
const CHECKPOINT_PAGES = 16_000;
/** The write-ahead log file is cut back to this after a checkpoint. */
const WAL_BYTES_MAX = 64 * 1_024 * 1_024;

/**
 * `streams.revision` is the last revision ever appended, so that truncation never reopens a stream.
 * `log.head` is the last position ever given, so that positions never repeat.
 * `data` is TEXT for JSON and BLOB for bytes.
 */
const SCHEMA = `
  CREATE TABLE streams (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    truncate_before INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL REFERENCES streams (id),
    revision INTEGER NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    metadata TEXT NOT NULL,
    data NOT NULL
  );
  CREATE UNIQUE INDEX events_by_stream ON events (stream, revision);
  CREATE TABLE log (one INTEGER PRIMARY KEY CHECK (one = 1), head INTEGER NOT NULL);
  INSERT INTO log VALUES (1, 0);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;

/**
 * Opens the log file and makes it when it is new. A commit is on disk when it returns (`synchronous=FULL`),
 * erased bytes are overwritten (`secure_delete`), and a locked file fails at once (`busy_timeout=0`): the
 * caller waits without blocking its event loop. The connection keeps at most `cacheKib` KiB of pages.
 */
export function openLogDatabase(path: string, cacheKib: number): DatabaseSync {
  const db = new DatabaseSync(path);
  // Only while the file is made may another process make us wait: both would write the same schema.
  db.exec("PRAGMA busy_timeout = 5000");
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON");
  db.exec(`PRAGMA cache_size = -${cacheKib}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
  db.exec(`PRAGMA journal_size_limit = ${WAL_BYTES_MAX}`);
  migrate(db, path);
  db.exec("PRAGMA busy_timeout = 0");
  return db;
}

function migrate(db: DatabaseSync, path: string): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    const version = Number(db.prepare("PRAGMA user_version").get()?.user_version ?? 0);
    if (version > SCHEMA_VERSION) {
      throw new Error(
        `${path} was written by a newer Postledger (schema ${version}, this one knows ${SCHEMA_VERSION})`,
      );
    }
    if (version === 0) db.exec(SCHEMA);
    db.exec("COMMIT");
  } catch (error) {
    db.exec("ROLLBACK");
    throw error;
  }
}
