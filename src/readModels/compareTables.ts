import type { ProjectionTable } from "../../projections/projection.ts";
import type { ReadDatabaseFile, SqlRow, SqlValue } from "../ports/readDatabase.ts";

/** A row that only one side has, or that differs between the sides. */
export interface RowDifference {
  readonly table: string;
  readonly key: readonly SqlValue[];
  readonly live: SqlRow | null;
  readonly rebuilt: SqlRow | null;
  /** The columns that differ, if both sides have the row. */
  readonly columns: readonly string[];
}

/** The rows in key order, compared by bytes whatever the columns' own collation is. */
export function rowsByKey(db: ReadDatabaseFile, table: ProjectionTable): Iterable<SqlRow> {
  const order = table.key.map((column) => `${column} COLLATE BINARY`).join(", ");
  return db.rows(`SELECT * FROM ${table.name} ORDER BY ${order}`);
}

/** SQLite's order of types: null, numbers, text, bytes. */
function rank(value: SqlValue): number {
  if (value === null) return 0;
  if (typeof value === "number") return 1;
  return typeof value === "string" ? 2 : 3;
}

/** SQLite's order of values under the binary collation: text by its UTF-8 bytes, not by UTF-16 units. */
function compareValues(a: SqlValue, b: SqlValue): number {
  if (a === b) return 0;
  const byRank = rank(a) - rank(b);
  if (byRank !== 0) return byRank;
  if (typeof a === "number" && typeof b === "number") return a - b;
  return Buffer.compare(bytesOf(a), bytesOf(b));
}

function bytesOf(value: SqlValue): Uint8Array {
  return value instanceof Uint8Array ? value : Buffer.from(String(value));
}

function compareKeys(a: readonly SqlValue[], b: readonly SqlValue[]): number {
  for (const [index, value] of a.entries()) {
    const order = compareValues(value, b[index] ?? null);
    if (order !== 0) return order;
  }
  return 0;
}

function keyOf(row: SqlRow, table: ProjectionTable): readonly SqlValue[] {
  return table.key.map((column) => row[column] ?? null);
}

export function differingColumns(a: SqlRow, b: SqlRow): readonly string[] {
  return Object.keys(a).filter((column) => compareValues(a[column] ?? null, b[column] ?? null) !== 0);
}

/** One side of the comparison: its rows, and the next one. */
interface Side {
  readonly rows: Iterator<SqlRow>;
  row: SqlRow | null;
}

function advance(side: Side): void {
  const next = side.rows.next();
  side.row = next.done ? null : next.value;
}

function sideOf(db: ReadDatabaseFile, table: ProjectionTable): Side {
  const side: Side = { rows: rowsByKey(db, table)[Symbol.iterator](), row: null };
  advance(side);
  return side;
}

/** Which side's row comes first; 0 when both have this key. An exhausted side comes last. */
function compareSides(live: Side, rebuilt: Side, table: ProjectionTable): number {
  if (!live.row) return 1;
  if (!rebuilt.row) return -1;
  return compareKeys(keyOf(live.row, table), keyOf(rebuilt.row, table));
}

/** Takes a side's next row if it is due, and advances that side. */
function take(side: Side, isDue: boolean): SqlRow | null {
  if (!isDue) return null;
  const { row } = side;
  advance(side);
  return row;
}

/**
 * Walks one table on both sides in key order. For every row that either side has, yields the difference, or null if
 * there is none. Holds one row of each side at a time.
 */
export function* compareTable(
  liveDb: ReadDatabaseFile,
  rebuiltDb: ReadDatabaseFile,
  table: ProjectionTable,
): Iterable<RowDifference | null> {
  const liveSide = sideOf(liveDb, table);
  const rebuiltSide = sideOf(rebuiltDb, table);
  while (liveSide.row ?? rebuiltSide.row) {
    const order = compareSides(liveSide, rebuiltSide, table);
    const live = take(liveSide, order <= 0);
    const rebuilt = take(rebuiltSide, order >= 0);
    const columns = live && rebuilt ? differingColumns(live, rebuilt) : [];
    if (live && rebuilt && columns.length === 0) yield null;
    else yield { table: table.name, key: keyOf(live ?? rebuilt ?? {}, table), live, rebuilt, columns };
  }
}
