import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { invariant } from "../../kernel/assert.ts";
import type { Position } from "../../ports/eventStore.ts";
import {
  ReadDatabaseError,
  type ReadDatabaseFile,
  type ReadDatabases,
  type SqlRow,
} from "../../ports/readDatabase.ts";

const CATALOG_FILE = "catalog.db";

/**
 * `building`: some process writes it. `ready`: complete up to the head as its builder saw it. `current`: the one
 * that is followed and read. `retired`: to be removed once nobody has it open.
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
  /** Why the follower stopped with it; null while nothing is wrong. */
  readonly failure: string | null;
}

/** What the last comparison of a read model with the log has found. */
export interface Verification {
  readonly name: string;
  readonly version: number;
  /** RFC 3339. */
  readonly finishedAt: string;
  /** Where in the log the two sides were compared. */
  readonly position: Position;
  /** Rows looked at: a row that both sides have counts once. */
  readonly rows: number;
  readonly differences: number;
  /** Why they could not be compared; null when they were. */
  readonly failure: string | null;
}

/** Which generations there are, shared by all processes of a data directory. */
export interface Catalog extends Disposable {
  /** All generations, the newest first. */
  generations(): readonly GenerationEntry[];
  current(name: string): GenerationEntry | undefined;
  /** Enters a new generation under a file name that was never used; runs `prepare` before others see it. */
  create(name: string, version: number, prepare: (entry: GenerationEntry) => void): GenerationEntry;
  /** Runs `work` unless the generation was cleared away, which nobody else does or takes up meanwhile. */
  claim<Result>(entry: GenerationEntry, work: () => Result): Result | undefined;
  /** Runs `publish` and calls the generation ready, in one step for others. False: it was cleared away. */
  makeReady(entry: GenerationEntry, publish: () => void): boolean;
  /** Makes it the current generation of its name; the one before is retired and returned. */
  makeCurrent(entry: GenerationEntry): GenerationEntry | undefined;
  retire(entry: GenerationEntry): void;
  setFailure(entry: GenerationEntry, failure: string | null): void;
  /** The last verification of each read model; none while its current generation was never verified. */
  verifications(): readonly Verification[];
  /** Replaces the last one of its read model, unless another generation than the one it speaks of is current by now. */
  noteVerification(of: GenerationEntry | undefined, verification: Verification): void;
  /**
   * Removes file and entry. False, and both stay: a connection has the file open, or another process has finished what
   * the entry calls a build.
   */
  remove(entry: GenerationEntry): boolean;
  /** Whether anyone else has changed the catalog since this was last asked. Cheap. */
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
const COLUMNS = "number, name, version, file, status, failure";

function entryOf(row: SqlRow): GenerationEntry {
  return {
    number: Number(row.number),
    name: String(row.name),
    version: Number(row.version),
    file: String(row.file),
    status: row.status as GenerationStatus,
    failure: row.failure === null ? null : String(row.failure),
  };
}

function verificationOf(row: SqlRow): Verification {
  return {
    name: String(row.name),
    version: Number(row.version),
    finishedAt: String(row.finished_at),
    position: String(row.position) as Position,
    rows: Number(row.rows),
    differences: Number(row.differences),
    failure: row.failure === null ? null : String(row.failure),
  };
}

function noteVerification(db: ReadDatabaseFile, verification: Verification): void {
  const { name, version, finishedAt, position, rows, differences, failure } = verification;
  const sql = "INSERT OR REPLACE INTO verifications VALUES (?, ?, ?, ?, ?, ?, ?)";
  db.run(sql, name, version, finishedAt, position, rows, differences, failure);
}

/** Runs `work` in one write transaction: other processes see all of it or nothing. */
function exclusively<Result>(db: ReadDatabaseFile, work: () => Result): Result {
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
  const row = db.get(`SELECT ${COLUMNS} FROM generations WHERE name = ? AND status = 'current'`, name);
  return row && entryOf(row);
}

function setStatus(db: ReadDatabaseFile, number: number, status: GenerationStatus): void {
  db.run("UPDATE generations SET status = ? WHERE number = ?", status, number);
}

function isThere(db: ReadDatabaseFile, { number }: GenerationEntry): boolean {
  return db.get("SELECT 1 FROM generations WHERE number = ?", number) !== undefined;
}

function isFinished(db: ReadDatabaseFile, { number }: GenerationEntry): boolean {
  return db.get("SELECT 1 FROM generations WHERE number = ? AND status <> 'building'", number) !== undefined;
}

/** The next number whose file is not there: a catalog that was lost must not take over old files. */
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
  db.run(
    "INSERT INTO generations (number, name, version, file, status) VALUES (?, ?, ?, ?, 'building')",
    number,
    name,
    version,
    file,
  );
  return { number, name, version, file, status: "building", failure: null };
}

function makeCurrent(db: ReadDatabaseFile, entry: GenerationEntry): GenerationEntry | undefined {
  return exclusively(db, () => {
    const before = currentOf(db, entry.name);
    if (before?.number === entry.number) return undefined;
    if (before) setStatus(db, before.number, "retired");
    // What was found of the rows before says nothing of these.
    db.run("DELETE FROM verifications WHERE name = ?", entry.name);
    setStatus(db, entry.number, "current");
    invariant(currentOf(db, entry.name)?.number === entry.number, `${entry.file} is not in the catalog`);
    return before;
  });
}

/** Opens the catalog of a directory, which is made where missing. Throws {@link ReadDatabaseError}. */
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

/** Throws for damage anywhere in the file, which a query may meet much later. It has a few pages: that takes no time. */
function requireSound(db: ReadDatabaseFile): void {
  const result = String(db.get("PRAGMA integrity_check(1)")?.integrity_check);
  // SQLite names the database in a line of its own before the finding.
  if (result !== "ok") throw new ReadDatabaseError("damaged", result.split("\n").at(-1) ?? result);
}

/** A catalog, and why the one before it was thrown away; null when it was not. */
export interface OwnedCatalog {
  readonly catalog: Catalog;
  readonly renewed: string | null;
}

/**
 * The same for the owner of the directory, who makes a damaged catalog anew: what it says can all be made again from
 * the log, as after its loss. While another process has it open the damage is thrown.
 */
export function openOwnedCatalog(databases: ReadDatabases, directory: string): OwnedCatalog {
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
    generations: () => db.all(`SELECT ${COLUMNS} FROM generations ORDER BY number DESC`).map(entryOf),
    current: (name) => currentOf(db, name),
    create: (name, version, prepare) =>
      exclusively(db, () => {
        const entry = insertEntry(db, directory, name, version);
        prepare(entry);
        return entry;
      }),
    claim: (entry, work) => exclusively(db, () => (isThere(db, entry) ? work() : undefined)),
    makeReady: (entry, publish) =>
      exclusively(db, () => {
        publish();
        setStatus(db, entry.number, "ready");
        return isThere(db, entry);
      }),
    makeCurrent: (entry) => makeCurrent(db, entry),
    retire: (entry) => setStatus(db, entry.number, "retired"),
    setFailure: (entry, failure) =>
      db.run("UPDATE generations SET failure = ? WHERE number = ?", failure, entry.number),
    verifications: () => db.all("SELECT * FROM verifications ORDER BY name").map(verificationOf),
    noteVerification: (of, verification) =>
      exclusively(db, () => {
        if (currentOf(db, verification.name)?.number === of?.number) noteVerification(db, verification);
      }),
    remove: (entry) =>
      exclusively(db, () => {
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

/** Whether a directory has a catalog: without one there are no read models to look at. */
export function hasCatalog(directory: string): boolean {
  return existsSync(join(directory, CATALOG_FILE));
}

/** The read model's database that a file of the directory is, or is kept for; undefined for any other file. */
export function databaseFileOf(file: string): string | undefined {
  const database = /^.+\.db(?=$|\.sav(?:ed|ing)$)/.exec(file)?.[0];
  return database === CATALOG_FILE ? undefined : database;
}
