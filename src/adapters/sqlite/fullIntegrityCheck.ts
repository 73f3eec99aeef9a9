import type { DatabaseSync } from "node:sqlite";
import { reasonOf } from "../../kernel/text/errorReason.ts";
import { APPEND_BYTES_MAX, type StoreFault } from "../../ports/eventStore.ts";
import {
  areTablesOurs,
  FAULTS_REPORTED_MAX,
  fileFaultOf,
  quickIntegrityCheck,
  rowsOf,
  schemaFaults,
} from "./quickIntegrityCheck.ts";

type Row = Readonly<Record<string, unknown>>;
type Kind = StoreFault["kind"];

/**
 * Conditions that no row of `events`, joined with its stream, may meet; the first one met is reported. They include the
 * columns' types, because SQLite stores any type in any column, and orders and compares values by type.
 */
const EVENT_RULES: readonly (readonly [where: string, kind: Kind, detail: string])[] = [
  ["e.position < 1", "inserted", "it lies before the beginning of the log"],
  ["e.position > (SELECT head FROM log)", "inserted", "it lies after the end of the log"],
  ["s.id IS NULL", "hidden", "it belongs to no stream, so nobody reads it"],
  ["typeof(e.revision) <> 'integer' OR e.revision < 0", "changed", "its revision is not a valid number"],
  [
    "typeof(e.id) <> 'text' OR typeof(e.type) <> 'text' OR typeof(e.metadata) <> 'text' OR typeof(e.data) NOT IN ('text', 'blob')",
    "changed",
    "one of its columns has a type that Postledger never writes",
  ],
  [
    `octet_length(e.metadata) + octet_length(e.data) > ${APPEND_BYTES_MAX}`,
    "changed",
    "it is larger than any append may be",
  ],
  [
    "e.type = '' AND (e.id <> '' OR e.metadata <> '' OR e.data <> '')",
    "changed",
    "it is hidden behind an empty type",
  ],
  [
    "e.type = '' AND e.revision >= s.truncate_before",
    "removed",
    "it was emptied, but its stream is not truncated there",
  ],
  [
    "e.type <> '' AND e.revision < s.truncate_before",
    "inserted",
    "its stream is truncated there, but it was not emptied",
  ],
  ["e.revision > s.revision", "inserted", "its stream ends before it"],
];

const BY_EVENT_RULES = `SELECT * FROM (
    SELECT e.position, e.revision, s.name, CASE ${EVENT_RULES.map(([where], at) => `WHEN ${where} THEN ${at}`).join(" ")} END AS rule
    FROM events e NOT INDEXED LEFT JOIN streams s NOT INDEXED ON s.id = e.stream
  ) WHERE rule IS NOT NULL LIMIT ${FAULTS_REPORTED_MAX}`;

/** Gaps between positions: `first` to `last` are missing. {@link quickIntegrityCheck} checks the ends. */
const GAPS = `SELECT before + 1 AS first, position - 1 AS last FROM (
    SELECT position, lag(position) OVER (ORDER BY position) AS before FROM events NOT INDEXED WHERE position > 0
  ) WHERE position > before + 1 LIMIT ${FAULTS_REPORTED_MAX}`;

/** Streams whose row contradicts their events. */
const STREAMS = `SELECT s.id, s.name, s.revision, count(e.position) AS events FROM streams s NOT INDEXED
  LEFT JOIN events e INDEXED BY events_by_stream ON e.stream = s.id GROUP BY s.id
  HAVING typeof(s.name) <> 'text' OR typeof(s.revision) <> 'integer' OR typeof(s.truncate_before) <> 'integer'
    OR s.truncate_before NOT BETWEEN 0 AND s.revision + 1 OR events <> s.revision + 1 OR max(e.revision) IS NOT s.revision
  LIMIT ${FAULTS_REPORTED_MAX}`;

/** Events with the id of an earlier one, which no append gives: ids are always fresh. */
const REPEATED_IDS = `SELECT name, revision, position FROM (
    SELECT s.name, e.revision, e.position, row_number() OVER (PARTITION BY e.id ORDER BY e.position) AS copy
    FROM events e NOT INDEXED LEFT JOIN streams s NOT INDEXED ON s.id = e.stream WHERE e.id <> ''
  ) WHERE copy > 1 LIMIT ${FAULTS_REPORTED_MAX}`;

/** Rows that an index lacks, and index entries without a row. Checked only if SQLite finds the file unsound. */
const INDEX_RULES: readonly (readonly [sql: string, kind: Kind, detail: string])[] = [
  [
    `SELECT e.position, e.revision, s.name FROM events e NOT INDEXED LEFT JOIN streams s NOT INDEXED ON s.id = e.stream
      WHERE NOT EXISTS (SELECT 1 FROM events i INDEXED BY events_by_stream
        WHERE i.stream = e.stream AND i.revision = e.revision AND i.position = e.position)`,
    "hidden",
    "its stream does not show it: the index events_by_stream lacks it",
  ],
  [
    `SELECT i.position, i.revision, s.name FROM events i INDEXED BY events_by_stream
      LEFT JOIN streams s NOT INDEXED ON s.id = i.stream WHERE NOT EXISTS (SELECT 1 FROM events e NOT INDEXED
        WHERE e.position = i.position AND +e.stream = i.stream AND +e.revision = i.revision)`,
    "inserted",
    "the index events_by_stream lists it in a wrong place",
  ],
  [
    `SELECT s.name FROM streams s NOT INDEXED WHERE
      (SELECT i.id FROM streams i INDEXED BY sqlite_autoindex_streams_1 WHERE i.name = s.name) IS NOT s.id`,
    "hidden",
    "it cannot be found by its name: the index of names lacks it",
  ],
  [
    `SELECT i.name FROM streams i INDEXED BY sqlite_autoindex_streams_1 WHERE NOT EXISTS
      (SELECT 1 FROM streams s NOT INDEXED WHERE s.id = i.id AND +s.name = i.name)`,
    "inserted",
    "the index of names lists it, but there is no such stream",
  ],
];

const SOUND = "ok";

/** Objects whose expressions SQLite's own check evaluates. Its statistics tables have none. */
const COMPUTES = /^(?:table(?! sqlite_stat)|index) /;

/**
 * All that is wrong with a log's file: its pages and indexes as SQLite checks them, its schema, and whether positions,
 * streams and indexes agree with the events in every direction. Reads the file a few times. Never evaluates expressions
 * from a changed schema, which might take for ever, or all memory.
 */
export function fullIntegrityCheck(db: DatabaseSync): readonly StoreFault[] {
  if (!areTablesOurs(db)) return quickIntegrityCheck(db);
  const computes = schemaFaults(db).some(({ object }) => object !== null && COMPUTES.test(object));
  const integrity = computes ? [] : integrityFaults(db);
  const rules = [
    eventFaults,
    gapFaults,
    streamFaults,
    repeatedIdFaults,
    ...(integrity.length > 0 ? [indexFaults] : []),
  ];
  return [...integrity, ...[quickIntegrityCheck, ...rules].flatMap((rule) => attempt(db, rule))];
}

/** Runs a rule. A file too damaged for the rule to finish is a fault too. */
function attempt(db: DatabaseSync, rule: (db: DatabaseSync) => readonly StoreFault[]): readonly StoreFault[] {
  try {
    return rule(db);
  } catch (error) {
    return [fileFaultOf("changed", "file", `it cannot be read to its end: ${reasonOf(error)}`)];
  }
}

function integrityFaults(db: DatabaseSync): readonly StoreFault[] {
  return attempt(db, () =>
    db
      .prepare(`PRAGMA integrity_check(${FAULTS_REPORTED_MAX})`)
      .all()
      .map((row) => String(Object.values(row)[0]))
      .filter((verdict) => verdict !== SOUND)
      .map((verdict) => fileFaultOf("changed", `file: ${verdict}`, "SQLite's check of the file finds it")),
  );
}

function eventFaults(db: DatabaseSync): readonly StoreFault[] {
  return rowsOf(db, BY_EVENT_RULES).map((row) => {
    const [, kind, detail] = EVENT_RULES[Number(row.rule)] ?? ["", "changed", ""];
    return eventFault(row, kind, detail);
  });
}

/** A fault of one event. Names its position if its stream or revision is invalid. */
function eventFault({ name, revision, position }: Row, kind: Kind, detail: string): StoreFault {
  if (typeof name !== "string") return fileFaultOf(kind, `position ${position}`, detail);
  if (typeof revision !== "number") return fileFaultOf(kind, `position ${position} in ${name}`, detail);
  return { kind, stream: name, revision, object: null, detail };
}

function gapFaults(db: DatabaseSync): readonly StoreFault[] {
  return rowsOf(db, GAPS).map(({ first, last }) => {
    const object = first === last ? `position ${first}` : `positions ${first} to ${last}`;
    return fileFaultOf("removed", object, "no event has this place in the log");
  });
}

function streamFaults(db: DatabaseSync): readonly StoreFault[] {
  return rowsOf(db, STREAMS).flatMap(({ id, name, revision, events }) => {
    const missing = missingOf(db, { id: Number(id), stream: String(name), last: Number(revision) });
    if (missing.length > 0) return missing;
    const detail = `its row says that it ends at revision ${revision}; it has ${events} events`;
    return [fileFaultOf("changed", `stream ${name}`, detail)];
  });
}

interface StreamRow {
  readonly id: number;
  readonly stream: string;
  readonly last: number;
}

/** The revisions that a stream should have but lacks. */
function missingOf(db: DatabaseSync, { id, stream, last }: StreamRow): readonly StoreFault[] {
  const rows = db
    .prepare("SELECT revision FROM events INDEXED BY events_by_stream WHERE stream = ?")
    .iterate(id);
  const found = new Set<unknown>();
  for (const { revision } of rows) found.add(revision);
  const detail = "its stream should have it, but it is missing";
  const faults: StoreFault[] = [];
  for (let revision = 0; revision <= last && faults.length < FAULTS_REPORTED_MAX; revision += 1) {
    if (found.has(revision)) continue;
    faults.push({ kind: "removed", stream, revision, object: null, detail });
  }
  return faults;
}

function repeatedIdFaults(db: DatabaseSync): readonly StoreFault[] {
  const detail = "it has the id of an earlier event";
  return rowsOf(db, REPEATED_IDS).map((row) => eventFault(row, "inserted", detail));
}

function indexFaults(db: DatabaseSync): readonly StoreFault[] {
  return INDEX_RULES.flatMap(([sql, kind, detail]) =>
    attempt(db, () =>
      rowsOf(db, `${sql} LIMIT ${FAULTS_REPORTED_MAX}`).map((row) =>
        "position" in row ? eventFault(row, kind, detail) : fileFaultOf(kind, `stream ${row.name}`, detail),
      ),
    ),
  );
}
