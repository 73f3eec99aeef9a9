import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { invariant } from "../../kernel/assert.ts";
import type { Position } from "../../ports/eventStore.ts";
import {
  allRows,
  ReadDatabaseError,
  type ReadDatabaseFile,
  type ReadDatabases,
} from "../../ports/readDatabase.ts";

const CATALOG_FILE = "catalog.db";

/**
 * `building`: some process writes it. `ready`: complete up to the head that its builder saw. `current`: the one that
 * is followed and read. `retired`: will be removed once nobody has it open.
 */
export type GenerationStatus = "building" | "ready" | "current" | "retired";

/** One database file of a projection. */
export interface GenerationEntry {
  readonly name: string;
  readonly version: number;
  readonly number: number;
  /** The file's name in the read models' directory. */
  readonly file: string;
  readonly status: GenerationStatus;
  /** Why the follower stopped; null while nothing is wrong. */
  readonly failure: string | null;
}

/** The result of the last comparison of a read model with the log. */
export interface Verification {
  readonly name: string;
  readonly version: number;
  /** RFC 3339. */
  readonly finishedAt: string;
  /** The log position at which the two sides were compared. */
  readonly position: Position;
  /** Rows compared; a row that both sides have counts once. */
  readonly rows: number;
  readonly differences: number;
  /** Why the comparison failed; null if it did not. */
  readonly failure: string | null;
}

/** The list of generations, shared by all processes of a data directory. */
export interface Catalog extends Disposable {
  /** All generations, the newest first. */
  generations(): readonly GenerationEntry[];
  current(name: string): GenerationEntry | undefined;
  /** Adds a new generation under a file name never used before; runs `prepare` before others see it. */
  create(name: string, version: number, prepare: (entry: GenerationEntry) => void): GenerationEntry;
  /** Runs `work` under the catalog's write lock, so nobody claims or removes it meanwhile. Undefined if it is gone. */
  claim<Result>(entry: GenerationEntry, work: () => Result): Result | undefined;
  /** Runs `publish` and marks the generation ready, in one step for others. False if it was removed meanwhile. */
  makeReady(entry: GenerationEntry, publish: () => void): boolean;
  /** Makes it the current generation of its name; retires the one before and returns it. */
  makeCurrent(entry: GenerationEntry): GenerationEntry | undefined;
  retire(entry: GenerationEntry): void;
  setFailure(entry: GenerationEntry, failure: string | null): void;
  /** The last verification of each read model, except those whose current generation was never verified. */
  verifications(): readonly Verification[];
  /** Replaces its read model's last verification, unless `of` is no longer the current generation. */
  noteVerification(of: GenerationEntry | undefined, verification: Verification): void;
  /**
   * Removes file and entry. False if a connection has the file open, or if the entry is a build that another process
   * has finished meanwhile; then both stay.
   */
  remove(entry: GenerationEntry): boolean;
  /** Whether anyone else has changed the catalog since the last call. Cheap. */
  hasChanged(): boolean;
  close(): void;
}

const SCHEMA = `CREATE TABLE IF NOT EXISTS generations (
  number INTEGER PRIMARY KEY AUTOINCREMENT,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  file TEXT NOT NULL UNIQUE,
  status TEXT NOT NULL CHECK (status IN ('building', 'ready', 'current', 'retired')),
  failure TEXT
)`;
const VERIFICATIONS = `CREATE TABLE IF NOT EXISTS verifications (
  name TEXT PRIMARY KEY,
  version INTEGER NOT NULL,
  finished_at TEXT NOT NULL,
  position TEXT NOT NULL,
  rows INTEGER NOT NULL,
  differences INTEGER NOT NULL,
  failure TEXT
)`;
/** An entry with a file name that {@link insertEntry} does not make: its removal would hit a file elsewhere. */
const FOREIGN_FILE = `SELECT file FROM generations
  WHERE file <> name || '.' || version || '.' || number || '.db' OR instr(file, '/') > 0 LIMIT 1`;
/** The columns of a {@link GenerationEntry}. */
const COLUMNS = "number, name, version, file, status, failure";

const VERIFICATION_COLUMNS = "name, version, finished_at AS finishedAt, position, rows, differences, failure";

function noteVerification(db: ReadDatabaseFile, verification: Verification): void {
  const { name, version, finishedAt, position, rows, differences, failure } = verification;
  const sql = "INSERT OR REPLACE INTO verifications VALUES (?, ?, ?, ?, ?, ?, ?)";
  db.run(sql, name, version, finishedAt, position, rows, differences, failure);
}

/** Runs `work` in one write transaction: other processes see all of it or nothing. */
function inTransaction<Result>(db: ReadDatabaseFile, work: () => Result): Result {
  db.begin();
  try {
    const result = work();
    db.commit();
    return result;
  } catch (error) {
    db.rollback();
    throw error;
  }
}

function currentOf(db: ReadDatabaseFile, name: string): GenerationEntry | undefined {
  const sql = `SELECT ${COLUMNS} FROM generations WHERE name = ? AND status = 'current'`;
  return db.get(sql, name) as GenerationEntry | undefined;
}

function setStatus(db: ReadDatabaseFile, number: number, status: GenerationStatus): void {
  db.run("UPDATE generations SET status = ? WHERE number = ?", status, number);
}

function exists(db: ReadDatabaseFile, { number }: GenerationEntry): boolean {
  return db.get("SELECT 1 FROM generations WHERE number = ?", number) !== undefined;
}

function isFinished(db: ReadDatabaseFile, { number }: GenerationEntry): boolean {
  return db.get("SELECT 1 FROM generations WHERE number = ? AND status <> 'building'", number) !== undefined;
}

/** Inserts an entry with the next number whose file does not exist: a new catalog must not take over old files. */
function insertEntry(
  db: ReadDatabaseFile,
  directory: string,
  name: string,
  version: number,
): GenerationEntry {
  const sequence = db.get("SELECT seq FROM sqlite_sequence WHERE name = 'generations'");
  let number = Number(sequence?.seq ?? 0) + 1;
  while (existsSync(join(directory, `${name}.${version}.${number}.db`))) number += 1;
  const file = `${name}.${version}.${number}.db`;
  const sql = "INSERT INTO generations (number, name, version, file, status) VALUES (?, ?, ?, ?, 'building')";
  db.run(sql, number, name, version, file);
  return { number, name, version, file, status: "building", failure: null };
}

function makeCurrent(db: ReadDatabaseFile, entry: GenerationEntry): GenerationEntry | undefined {
  return inTransaction(db, () => {
    const before = currentOf(db, entry.name);
    if (before?.number === entry.number) return undefined;
    if (before) setStatus(db, before.number, "retired");
    // Findings about the previous rows do not apply to these.
    db.run("DELETE FROM verifications WHERE name = ?", entry.name);
    setStatus(db, entry.number, "current");
    invariant(currentOf(db, entry.name)?.number === entry.number, `${entry.file} is not in the catalog`);
    return before;
  });
}

/** Opens the catalog of a directory, creating both if missing. Throws {@link ReadDatabaseError}. */
export function openCatalog(databases: ReadDatabases, directory: string): Catalog {
  mkdirSync(directory, { recursive: true });
  let db: ReadDatabaseFile | undefined;
  try {
    db = databases.open(join(directory, CATALOG_FILE), "write");
    db.run(SCHEMA);
    db.run(VERIFICATIONS);
    requireSound(db);
  } catch (error) {
    db?.close();
    if (!(error instanceof ReadDatabaseError) || error.failure !== "damaged") throw error;
    const what = `the catalog of the read models is damaged: ${error.message}`;
    throw new ReadDatabaseError("damaged", what, { cause: error });
  }
  return catalogOf(db, databases, directory);
}

/** Throws for damage anywhere in the file, which queries might hit only much later. Quick: it has few pages. */
function requireSound(db: ReadDatabaseFile): void {
  const result = String(db.get("PRAGMA integrity_check(1)")?.integrity_check);
  // SQLite names the database on a separate line before the finding.
  if (result !== "ok") throw new ReadDatabaseError("damaged", result.split("\n").at(-1) ?? result);
  const foreign = db.get(FOREIGN_FILE);
  if (foreign) throw new ReadDatabaseError("damaged", `it names a file that is not its own: ${foreign.file}`);
}

/**
 * Opens the catalog for the owner of the directory, and replaces a damaged one: all it says can be rebuilt from the
 * log, as if it were lost. `renewed` is why it was; null if it was not. Throws the damage while another process has it
 * open.
 */
export function openOwnedCatalog(databases: ReadDatabases, directory: string) {
  try {
    return { catalog: openCatalog(databases, directory), renewed: null };
  } catch (error) {
    if (!(error instanceof ReadDatabaseError) || error.failure !== "damaged") throw error;
    if (!databases.remove(join(directory, CATALOG_FILE))) throw error;
    return { catalog: openCatalog(databases, directory), renewed: error.message };
  }
}

function catalogOf(db: ReadDatabaseFile, databases: ReadDatabases, directory: string): Catalog {
  let seen = -1;
  return {
    generations: () => allRows(db, `SELECT ${COLUMNS} FROM generations ORDER BY number DESC`),
    current: (name) => currentOf(db, name),
    create: (name, version, prepare) =>
      inTransaction(db, () => {
        const entry = insertEntry(db, directory, name, version);
        prepare(entry);
        return entry;
      }),
    claim: (entry, work) => inTransaction(db, () => (exists(db, entry) ? work() : undefined)),
    makeReady: (entry, publish) =>
      inTransaction(db, () => {
        publish();
        setStatus(db, entry.number, "ready");
        return exists(db, entry);
      }),
    makeCurrent: (entry) => makeCurrent(db, entry),
    retire: (entry) => setStatus(db, entry.number, "retired"),
    setFailure: (entry, failure) =>
      db.run("UPDATE generations SET failure = ? WHERE number = ?", failure, entry.number),
    verifications: () => allRows(db, `SELECT ${VERIFICATION_COLUMNS} FROM verifications ORDER BY name`),
    noteVerification: (of, verification) =>
      inTransaction(db, () => {
        if (currentOf(db, verification.name)?.number === of?.number) noteVerification(db, verification);
      }),
    remove: (entry) =>
      inTransaction(db, () => {
        if (entry.status === "building" && isFinished(db, entry)) return false;
        if (!databases.remove(join(directory, entry.file))) return false;
        db.run("DELETE FROM generations WHERE number = ?", entry.number);
        return true;
      }),
    hasChanged() {
      const version = db.dataVersion();
      const changed = version !== seen;
      seen = version;
      return changed;
    },
    close: () => db.close(),
    [Symbol.dispose]: () => db.close(),
  };
}

/** Whether a directory has a catalog. Without one it has no read models. */
export function hasCatalog(directory: string): boolean {
  return existsSync(join(directory, CATALOG_FILE));
}

/** The read model database that a file of the directory is or belongs to; undefined for any other file. */
export function databaseFileOf(file: string): string | undefined {
  const database = /^.+\.db(?=$|\.sav(?:ed|ing)$)/.exec(file)?.[0];
  return database === CATALOG_FILE ? undefined : database;
}
