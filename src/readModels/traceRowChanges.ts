import type { Projection, ProjectionTable } from "../../projections/projection.ts";
import type { ProjectedEvent, ReadDatabaseFile, SqlRow, SqlValue } from "../ports/readDatabase.ts";
import { differingColumns } from "./compareTables.ts";

/** Where to find an event. */
export interface EventLocation {
  readonly stream: string;
  readonly revision: number;
  readonly type: string;
  /** The event's own time, RFC 3339. */
  readonly at: string;
}

interface WatchedRow {
  readonly table: string;
  readonly key: readonly SqlValue[];
  /** The columns of interest. Whether the row exists is always of interest. */
  readonly columns: readonly string[];
}

interface Watch extends WatchedRow {
  readonly select: string;
  row: SqlRow | undefined;
  cause: EventLocation | null;
}

const HITS = "watched_hits";

/**
 * Finds the event that last changed each of these rows, in a read model whose tables are still empty. Triggers note which
 * watched rows an event touches, so writes to other rows need no look at them.
 */
export function traceRowChanges(db: ReadDatabaseFile, projection: Projection, rows: readonly WatchedRow[]) {
  const watches = rows.map((row): Watch => {
    const table = projection.tables.find(({ name }) => name === row.table);
    if (!table) throw new Error(`${projection.name} has no table ${row.table}`);
    const key = table.key.map((column) => `${column} IS ?`).join(" AND ");
    return { ...row, select: `SELECT * FROM ${row.table} WHERE ${key}`, row: undefined, cause: null };
  });
  db.begin();
  db.run(`CREATE TABLE ${HITS} (number INTEGER)`);
  for (const table of projection.tables) createTriggers(db, table, watches);
  db.commit();
  const traced: Projection = {
    ...projection,
    apply(event, rowsOf) {
      // Write sums at once: if written later, they would be attributed to another event.
      const add = (sql: string, key: readonly SqlValue[], amounts: readonly number[]) =>
        rowsOf.run(sql, ...key, ...amounts);
      projection.apply(event, { ...rowsOf, add });
      noteHits(db, watches, event);
    },
  };
  return {
    /** The projection to build with. It produces the same rows. */
    projection: traced,
    /**
     * The last event so far that added or removed the watched row with this index, or changed one of its columns of
     * interest; null if none did.
     */
    cause: (index: number) => watches[index]?.cause ?? null,
  };
}

function createTriggers(
  db: ReadDatabaseFile,
  { name, key }: ProjectionTable,
  watches: readonly Watch[],
): void {
  const watched = `watched_${name}`;
  const columns = key.map((_, index) => `k${index}`);
  db.run(`CREATE TABLE ${watched} (number INTEGER, ${columns.join(", ")})`);
  db.run(`CREATE INDEX ${watched}_by_key ON ${watched} (${columns.join(", ")})`);
  const places = ["?", ...columns.map(() => "?")].join(", ");
  for (const [number, watch] of watches.entries()) {
    if (watch.table === name) db.run(`INSERT INTO ${watched} VALUES (${places})`, number, ...watch.key);
  }
  const note = (row: "OLD" | "NEW") =>
    `INSERT INTO ${HITS} SELECT number FROM ${watched}
      WHERE ${key.map((column, index) => `k${index} IS ${row}.${column}`).join(" AND ")};`;
  const trigger = (verb: string, does: string) =>
    db.run(`CREATE TRIGGER ${watched}_${verb} AFTER ${verb} ON ${name} BEGIN ${does} END`);
  trigger("INSERT", note("NEW"));
  trigger("DELETE", note("OLD"));
  trigger("UPDATE", note("OLD") + note("NEW"));
}

function noteHits(db: ReadDatabaseFile, watches: readonly Watch[], event: ProjectedEvent): void {
  const hits = db.all(`SELECT DISTINCT number FROM ${HITS}`);
  if (hits.length === 0) return;
  db.run(`DELETE FROM ${HITS}`);
  for (const { number } of hits) {
    const watch = watches[Number(number)];
    if (watch) noteHit(watch, db.get(watch.select, ...watch.key), event);
  }
}

function noteHit(watch: Watch, row: SqlRow | undefined, event: ProjectedEvent): void {
  const before = watch.row;
  watch.row = row;
  const isOther =
    before && row
      ? differingColumns(before, row).some((column) => watch.columns.includes(column))
      : before !== row;
  if (!isOther) return;
  const { stream, revision, type, metadata } = event;
  watch.cause = { stream, revision, type, at: String(metadata.at) };
}
