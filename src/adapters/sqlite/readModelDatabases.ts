import {
  closeSync,
  copyFileSync,
  existsSync,
  fsyncSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname } from "node:path";
import { backup, DatabaseSync, type StatementSync } from "node:sqlite";
import type { EpochMs } from "../../kernel/time.ts";
import {
  ReadDatabaseError,
  type ReadDatabaseFailure,
  type ReadDatabaseFile,
  type ReadDatabaseMode,
  type ReadDatabases,
  type SqlRow,
  type SqlValue,
} from "../../ports/readDatabase.ts";
import { resultCodeOf } from "./resultCode.ts";

/** How many statements to keep. Their texts come from our code, so only queries built at run time can reach this. */
const STATEMENTS_MAX = 500;
const BUSY_TIMEOUT_MS = 2_000;

/** Checkpoints the write-ahead log less often than SQLite's default of 1,000 pages, because each costs an fsync. */
const WRITE_PRAGMAS = `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864`;
/** How much one build caches in memory. A rebuild runs one build per read model. */
const BUILD_CACHE_KIB = 16 * 1_024;
const BUILD_PRAGMAS = `PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;
  PRAGMA cache_size = -${BUILD_CACHE_KIB}`;

/** SQLite's primary result codes that mean something other than "the statement is at fault". */
const FAILURES: ReadonlyMap<number, ReadDatabaseFailure> = new Map([
  [5, "unavailable"], // BUSY
  [6, "unavailable"], // LOCKED
  [7, "unavailable"], // NOMEM
  [8, "unavailable"], // READONLY: also what a file system gone read-only says
  [10, "unavailable"], // IOERR
  [11, "damaged"], // CORRUPT
  [13, "unavailable"], // FULL
  [14, "unavailable"], // CANTOPEN
  [26, "damaged"], // NOTADB
]);

function readDatabaseError(error: unknown): unknown {
  const code = resultCodeOf(error);
  if (!(error instanceof Error) || code === undefined) return error;
  return new ReadDatabaseError(FAILURES.get(code) ?? "statement", error.message, { cause: error });
}

/** Runs `work`, turning SQLite's errors into the port's. */
function guarded<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw readDatabaseError(error);
  }
}

/** Prepares each statement text once. Beyond the limit it evicts the oldest. */
function statementCache(db: DatabaseSync): (sql: string) => StatementSync {
  const statements = new Map<string, StatementSync>();
  return (sql) =>
    statements.getOrInsertComputed(sql, () => {
      const [oldest = ""] = statements.keys();
      if (statements.size >= STATEMENTS_MAX) statements.delete(oldest);
      return db.prepare(sql);
    });
}

function connect(path: string, mode: ReadDatabaseMode): DatabaseSync {
  const db = new DatabaseSync(path, { readOnly: mode === "read", timeout: BUSY_TIMEOUT_MS });
  try {
    if (mode === "write") db.exec(WRITE_PRAGMAS);
    if (mode === "build") db.exec(BUILD_PRAGMAS);
    // Read once, so a file that is not a database fails here.
    if (mode === "read") db.prepare("PRAGMA schema_version").get();
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Switching to a write-ahead log and checkpointing it with `synchronous = FULL` flushes the whole file, including pages
 * written while flushing was off.
 */
function publishBuilt(db: DatabaseSync): void {
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  db.exec("BEGIN IMMEDIATE; PRAGMA user_version = 1; COMMIT");
  db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
}

/** Name endings of a build's last saved copy, and of the copy being written. */
const SAVED = ".saved";
const SAVING = ".saving";
/** How many pages to copy in one step. */
const SAVE_PAGES = 4_096;

/**
 * Copies by SQLite's backup, because opening and closing the file a second time would release the builder's lock (POSIX
 * drops all locks of a process on a file when it closes any descriptor of it). The copy is renamed only when it is on
 * disk, so a crash leaves the previous copy.
 */
async function saveBuilt(db: DatabaseSync, path: string): Promise<void> {
  try {
    rmSync(path + SAVING, { force: true });
    await backup(db, path + SAVING, { rate: SAVE_PAGES });
    flush(path + SAVING);
    renameSync(path + SAVING, path + SAVED);
    flush(dirname(path));
  } catch (error) {
    rmSync(path + SAVING, { force: true });
    const failure = readDatabaseError(error);
    if (failure instanceof ReadDatabaseError) throw failure;
    throw new ReadDatabaseError("unavailable", "a build could not be saved", { cause: error });
  }
}

/** Flushes a file, or the names in a directory, to disk. */
function flush(path: string): void {
  const descriptor = openSync(path, "r");
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function open(path: string, mode: ReadDatabaseMode): ReadDatabaseFile {
  const db = guarded(() => connect(path, mode));
  const prepare = statementCache(db);
  const close = () =>
    guarded(() => {
      if (db.isOpen) db.close();
    });
  return {
    run: (sql, ...values) => guarded(() => void prepare(sql).run(...values)),
    get: (sql, ...values) => guarded(() => prepare(sql).get(...values) as SqlRow | undefined),
    all: (sql, ...values) => guarded(() => prepare(sql).all(...values) as SqlRow[]),
    change: (sql, ...values) => guarded(() => prepare(sql).get(...values) as SqlRow | undefined),
    add: (sql, key, amounts) => guarded(() => void prepare(sql).run(...key, ...amounts)),
    rows: (sql, ...values) => guarded(() => iterate(db.prepare(sql), values)),
    begin: () => guarded(() => void prepare("BEGIN IMMEDIATE").run()),
    beginSnapshot: () =>
      guarded(() => {
        prepare("BEGIN").run();
        // SQLite takes the snapshot at the first read, not at BEGIN.
        prepare("SELECT count(*) FROM sqlite_schema").get();
      }),
    commit: () => guarded(() => void prepare("COMMIT").run()),
    rollback: () =>
      guarded(() => {
        if (db.isTransaction) prepare("ROLLBACK").run();
      }),
    dataVersion: () => guarded(() => Number(prepare("PRAGMA data_version").get()?.data_version)),
    close,
    [Symbol.dispose]: close,
    save: () => saveBuilt(db, path),
    publish: () =>
      guarded(() => {
        publishBuilt(db);
        db.close();
        rmSync(path + SAVED, { force: true });
      }),
  };
}

function* iterate(statement: StatementSync, values: readonly SqlValue[]): Iterable<SqlRow> {
  try {
    for (const row of statement.iterate(...values)) yield row as SqlRow;
  } catch (error) {
    throw readDatabaseError(error);
  }
}

/** Whether `path` is open elsewhere. Leaving write-ahead logging needs exclusive access. */
function isInUse(path: string): boolean {
  try {
    using db = new DatabaseSync(path, { timeout: 0 });
    db.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE; ROLLBACK");
    return false;
  } catch (error) {
    const failure = readDatabaseError(error);
    // Nobody uses a damaged file.
    return !(failure instanceof ReadDatabaseError && failure.failure === "damaged");
  }
}

function removeFiles(path: string, endings: readonly string[]): void {
  for (const ending of endings) rmSync(`${path}${ending}`, { force: true });
}

const DATABASE_ENDINGS = ["", "-wal", "-shm", "-journal"];

function emptyWriteAheadLog(path: string): boolean {
  return guarded(() => {
    using db = new DatabaseSync(path, { timeout: 0 });
    try {
      return Number(db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get()?.busy) === 0;
    } catch (error) {
      const failure = readDatabaseError(error);
      if (failure instanceof ReadDatabaseError && failure.failure === "unavailable") return false;
      throw error;
    }
  });
}

function remove(path: string): boolean {
  if (isInUse(path)) return false;
  removeFiles(path, [...DATABASE_ENDINGS, SAVED, SAVING]);
  return true;
}

function resume(path: string): ReadDatabaseFile | undefined {
  if (!existsSync(path + SAVED) || isInUse(path)) return undefined;
  // A dead builder may have left its own file in the middle of a commit; only the saved copy is sound.
  removeFiles(path, DATABASE_ENDINGS);
  try {
    copyFileSync(path + SAVED, path);
  } catch (error) {
    throw new ReadDatabaseError("unavailable", "a saved build could not be copied", { cause: error });
  }
  return open(path, "build");
}

function savedAt(path: string): EpochMs | null {
  const saved = statSync(path + SAVED, { throwIfNoEntry: false });
  return saved === undefined ? null : saved.mtimeMs;
}

/** Read databases as SQLite files with a write-ahead log, flushed at checkpoints: a crash may lose the last rows. */
export const sqliteReadDatabases: ReadDatabases = { open, emptyWriteAheadLog, resume, savedAt, remove };
