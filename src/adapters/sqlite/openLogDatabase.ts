import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { DamagedLogError, locationOfFault, StoreError } from "../../ports/eventStore.ts";
import { SCHEMA, SCHEMA_VERSION } from "./logSchema.ts";
import { quickIntegrityCheck } from "./quickIntegrityCheck.ts";
import { isBusy, isDamage } from "./resultCode.ts";
import { writeTransaction } from "./writeTransaction.ts";

/**
 * How many pages the write-ahead log may hold before a commit checkpoints them itself: 128 MB. The follower of the log
 * checkpoints long before that, in a thread that nobody waits for.
 */
const CHECKPOINT_PAGES = 32_000;
/** The write-ahead log file is truncated to this size after a checkpoint. */
const WAL_BYTES_MAX = 64 * 1_024 * 1_024;

/** How long another process may take to create the files beside the log, or to remove them when it closes the log. */
const FILES_CHANGE_MS_MAX = 5_000;
const LOOK_AGAIN_MS = 5;

interface LogDatabaseOptions {
  /** How many KiB of pages the connection keeps in memory. */
  readonly cacheKib: number;
  /** Opens the file even if its schema is not ours, only to report what is wrong with it. */
  readonly evenIfFaulty?: boolean;
}

/**
 * Opens the log file, or creates it. A commit is on disk when it returns (`synchronous=FULL`), erased bytes are
 * overwritten (`secure_delete`), and a locked file fails at once (`busy_timeout=0`), so the caller can wait without
 * blocking its event loop. Throws `StoreError`, also if somebody has changed the schema or the ends of the log: such a
 * file does not show what was appended.
 */
export function openLogDatabase(
  path: string,
  { cacheKib, evenIfFaulty = false }: LogDatabaseOptions,
): DatabaseSync {
  requireFileOfWriteAheadLog(path);
  requireFilesOfOpenLog(path);
  const db = new DatabaseSync(path);
  try {
    // Wait for another process only while creating the file: both would write the same schema.
    db.exec("PRAGMA busy_timeout = 5000; PRAGMA trusted_schema = OFF");
    db.exec("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA secure_delete = ON");
    db.exec(`PRAGMA cache_size = -${cacheKib}; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    db.exec(`PRAGMA journal_size_limit = ${WAL_BYTES_MAX}`);
    makeOrCheck(db, path, evenIfFaulty);
    db.exec("PRAGMA busy_timeout = 0");
    return db;
  } catch (error) {
    db.close();
    throw damageOf(error, path) ?? error;
  }
}

/**
 * Throws `StoreError` if a write-ahead log lies beside a database that is missing or empty. SQLite would delete it
 * (`pagerOpenWalIfPresent` in its `pager.c`), and with it the commits that only it holds.
 */
export function requireFileOfWriteAheadLog(path: string): void {
  // What may not be looked at counts as empty: opening it says why.
  const isEmpty = (file: string) => !existsSync(file) || statSync(file).size === 0;
  const writeAheadLog = `${path}-wal`;
  if (!isEmpty(path) || isEmpty(writeAheadLog)) return;
  throw new StoreError(
    "unavailable",
    `${path} is missing or empty, but ${writeAheadLog} holds what was written to it last. Nothing was changed. To do: put the file back beside it; if it is lost, move ${writeAheadLog} away and restore a backup`,
  );
}

/**
 * Throws `StoreError` if somebody has the log open, but one of the files that SQLite then keeps beside it is missing.
 * SQLite would create another one, and two processes that each use their own overwrite each other's commits.
 */
export function requireFilesOfOpenLog(path: string): void {
  const deadline = performance.now() + FILES_CHANGE_MS_MAX;
  for (;;) {
    const missing = existsSync(path) && [`${path}-wal`, `${path}-shm`].find((file) => !existsSync(file));
    if (!missing || !isOpenElsewhere(path)) return;
    if (performance.now() >= deadline)
      throw new StoreError(
        "unavailable",
        `${missing} was removed, but another process, such as the running service, still has the log open. Nothing was changed. To do: stop the service (SIGTERM) before anything else, so that it writes what the file held into ${path}`,
      );
    Bun.sleepSync(LOOK_AGAIN_MS);
  }
}

/** Whether any connection, of this process too, has the database open: then nobody else gets it exclusively. */
function isOpenElsewhere(path: string): boolean {
  using db = new DatabaseSync(path);
  try {
    db.exec("PRAGMA busy_timeout = 0; PRAGMA locking_mode = EXCLUSIVE; SELECT 1 FROM sqlite_master");
    return false;
  } catch (error) {
    // Any other error occurs again where the log is opened, and is reported there.
    return isBusy(error);
  }
}

/** The port's error if SQLite reports a damaged file; null for every other error. */
export function damageOf(error: unknown, path: string): DamagedLogError | null {
  if (!(error instanceof Error) || !isDamage(error)) return null;
  return damagedLog(path, error.message, { cause: error });
}

/** The port's error for a file that SQLite calls damaged, with SQLite's message. */
export function damagedLog(path: string, message: string, options?: ErrorOptions): DamagedLogError {
  return new DamagedLogError(`the log ${path} is damaged: ${message}`, options);
}

function makeOrCheck(db: DatabaseSync, path: string, evenIfFaulty: boolean): void {
  writeTransaction(db, () => {
    const isNew = db.prepare("SELECT 1 FROM sqlite_master").get() === undefined;
    if (isNew) db.exec(SCHEMA);
    else if (!evenIfFaulty) requireSound(db, path);
  });
}

/** Throws `StoreError` if somebody has changed the schema or the ends of the log, or a newer release wrote it. */
export function requireSound(db: DatabaseSync, path: string): void {
  const version = Number(db.prepare("PRAGMA user_version").get()?.user_version);
  if (version > SCHEMA_VERSION) {
    const versions = `schema ${version}, this one knows ${SCHEMA_VERSION}`;
    throw new StoreError("unavailable", `${path} was written by a newer Postledger (${versions})`);
  }
  const faults = quickIntegrityCheck(db);
  if (faults.length === 0) return;
  const lines = faults.map((fault) => `  ${locationOfFault(fault)}: ${fault.detail}`);
  throw new StoreError(
    "unavailable",
    [`${path} is not as it was written, so nothing is read from it:`, ...lines, SAYS_MORE].join("\n"),
  );
}

const SAYS_MORE = `\`${POSTLEDGER} audit verify\` checks all of it; docs/audit-and-erasure.md says what to do`;
