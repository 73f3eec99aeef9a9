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

/** Texts come from our own code, so this bound is only ever met by queries that are put together. */
const STATEMENTS_MAX = 500;
const BUSY_TIMEOUT_MS = 2_000;

/** Fewer checkpoints of the write-ahead log than SQLite's own 1,000 pages: each of them costs an fsync. */
const WRITE_PRAGMAS = `PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;
  PRAGMA wal_autocheckpoint = 4000; PRAGMA journal_size_limit = 67108864`;
/** Pages that one build keeps in memory: a rebuild has as many builds as there are read models. */
const BUILD_CACHE_KIB = 16 * 1_024;
const BUILD_PRAGMAS = `PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;
  PRAGMA cache_size = -${BUILD_CACHE_KIB}`;

/** SQLite's primary result codes that say something other than "the statement is at fault". */
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
  const code = (error as { errcode?: unknown }).errcode;
  if (!(error instanceof Error) || typeof code !== "number") return error;
  // The low byte is the primary code; the rest only refines it.
  return new ReadDatabaseError(FAILURES.get(code & 0xff) ?? "statement", error.message, { cause: error });
}

/** Runs `work`, turning SQLite's errors into the port's. */
function guarded<Result>(work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    throw readDatabaseError(error);
  }
}

/** Statements prepared once for each text, the oldest dropped past the bound. */
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
    // A file that is no database says so at the first read, which had better be here.
    if (mode === "read") db.prepare("PRAGMA schema_version").get();
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * The switch to a write-ahead log and its checkpoint with `synchronous = FULL` flush the whole file, also the
 * pages that were written while nothing was flushed.
 */
function publishBuilt(db: DatabaseSync): void {
  db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL");
  db.exec("BEGIN IMMEDIATE; PRAGMA user_version = 1; COMMIT");
  db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
}

/** Beside a build's file: what was last saved of it, and what is being saved. */
const SAVED = ".saved";
const SAVING = ".saving";
/** Pages that are copied in one go. */
const SAVE_PAGES = 4_096;

/**
 * A copy by SQLite's own means: to open the file a second time and close it would give up the builder's lock
 * (POSIX drops all of a process' locks on a file with the first descriptor that is closed). It is renamed only
 * when it is on disk, so a crash leaves the copy before.
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

/** Flushes a file, or a directory's names, to disk. */
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

/** Whether `path` is open elsewhere. Leaving the write-ahead log needs the file for oneself. */
function isInUse(path: string): boolean {
  try {
    using db = new DatabaseSync(path, { timeout: 0 });
    db.exec("PRAGMA journal_mode = DELETE; BEGIN EXCLUSIVE; ROLLBACK");
    return false;
  } catch (error) {
    const failure = readDatabaseError(error);
    // A damaged file is nobody's.
    return !(failure instanceof ReadDatabaseError && failure.failure === "damaged");
  }
}

function removeFiles(path: string, endings: readonly string[]): void {
  for (const ending of endings) rmSync(`${path}${ending}`, { force: true });
}

const DATABASE_ENDINGS = ["", "-wal", "-shm", "-journal"];

function truncateWriteAheadLog(path: string): boolean {
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
  // A builder that died may have left its own file in the middle of a commit; only the saved one is sound.
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

/** Read databases as SQLite files: write-ahead log, flushed at checkpoints (a crash may cost the last rows). */
export const sqliteReadDatabases: ReadDatabases = { open, truncateWriteAheadLog, resume, savedAt, remove };
