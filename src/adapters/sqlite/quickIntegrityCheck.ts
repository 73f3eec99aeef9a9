import { DatabaseSync } from "node:sqlite";
import type { StoreFault } from "../../ports/eventStore.ts";
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from "./logSchema.ts";

/** The most faults of one kind to report. */
export const FAULTS_REPORTED_MAX = 1_000;

type Row = Readonly<Record<string, unknown>>;

/** The rows of a query on a file that may hold anything. A number too large for JavaScript becomes text. */
export function rowsOf(db: DatabaseSync, sql: string): readonly Row[] {
  const statement = db.prepare(sql);
  statement.setReadBigInts(true);
  return statement.all().map((row) => {
    return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value)]));
  });
}

function plain(value: unknown): unknown {
  if (typeof value !== "bigint") return value;
  return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
}

/** A fault that is not about a single event. */
export function fileFaultOf(kind: StoreFault["kind"], object: string, detail: string): StoreFault {
  return { kind, object, stream: null, revision: null, detail };
}

/**
 * What is wrong with the schema and the ends of a log's file: all that can be checked without reading the log. It runs
 * at every opening and before every seal. Within a transaction it sees one snapshot.
 */
export function quickIntegrityCheck(db: DatabaseSync): readonly StoreFault[] {
  const schema = [...headerFaults(db), ...schemaFaults(db)];
  return areTablesOurs(db) ? [...schema, ...headFaults(db)] : schema;
}

/** Whether the log's tables are defined as we define them. If not, reading them may do anything. */
export function areTablesOurs(db: DatabaseSync): boolean {
  const found = new Map(schemaOf(db));
  return [...knownSchema()].every(
    ([object, sql]) => !object.startsWith("table ") || found.get(object) === sql,
  );
}

function headerFaults(db: DatabaseSync): readonly StoreFault[] {
  const known = { application_id: APPLICATION_ID, user_version: SCHEMA_VERSION };
  return Object.entries(known).flatMap(([name, value]) => {
    const found = db.prepare(`PRAGMA ${name}`).get()?.[name];
    return found === value ? [] : [fileFaultOf("changed", `pragma ${name}`, `it is ${found}, not ${value}`)];
  });
}

/** Everything in `sqlite_master` except root page numbers, which differ in a copy. */
function schemaOf(db: DatabaseSync): readonly (readonly [object: string, sql: string])[] {
  return db
    .prepare("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")
    .all()
    .map(({ type, name, tbl_name, sql }) => [`${type} ${name}`, JSON.stringify([tbl_name, sql])]);
}

let known: ReadonlyMap<string, string> | null = null;

/** Our schema as SQLite stores it. */
function knownSchema(): ReadonlyMap<string, string> {
  if (known !== null) return known;
  const db = new DatabaseSync(":memory:");
  db.exec(SCHEMA);
  known = new Map(schemaOf(db));
  db.close();
  return known;
}

/** How the schema differs from ours. A foreign trigger, view, index or table can make readers see another log. */
export function schemaFaults(db: DatabaseSync): readonly StoreFault[] {
  const missing = new Map(knownSchema());
  const faults: StoreFault[] = [];
  for (const [object, sql] of schemaOf(db)) {
    const expected = missing.get(object);
    missing.delete(object);
    if (expected === undefined)
      faults.push(fileFaultOf("inserted", object, "it is not part of the log's schema"));
    else if (expected !== sql) faults.push(fileFaultOf("changed", object, "its definition was changed"));
  }
  for (const object of missing.keys()) faults.push(fileFaultOf("removed", object, "it is missing"));
  return faults.slice(0, FAULTS_REPORTED_MAX);
}

/** Positions run from 1 to the head. Nobody reads rows outside that range, so somebody else has put them there. */
function headFaults(db: DatabaseSync): readonly StoreFault[] {
  const rows = rowsOf(db, "SELECT head FROM log LIMIT 2");
  const [row] = rows;
  if (row === undefined || rows.length > 1)
    return [fileFaultOf("changed", "table log", "it must have one row")];
  const { head } = row;
  if (typeof head !== "number" || !Number.isInteger(head) || head < 0)
    return [fileFaultOf("changed", "head", "it is not a valid position")];
  const [ends] = rowsOf(
    db,
    "SELECT (SELECT min(position) FROM events) AS first, (SELECT max(position) FROM events) AS last",
  );
  const { first = null, last = null } = ends ?? {};
  const faults: StoreFault[] = [];
  if (first !== null && Number(first) < 1)
    faults.push(fileFaultOf("inserted", `position ${first}`, "the log begins at position 1"));
  if (head > 0 && (first === null || Number(first) > 1))
    faults.push(fileFaultOf("removed", "position 1", "the log does not begin there"));
  if (Number(last ?? 0) > head)
    faults.push(fileFaultOf("inserted", `position ${last}`, `the log ends at position ${head}`));
  if (Number(last ?? 0) < head)
    faults.push(fileFaultOf("removed", `position ${head}`, "the log should end there, but does not"));
  return faults;
}
