import type { ReadDatabase, SqlRow, SqlValue } from "../src/ports/readDatabase.ts";

/**
 * The order of every list: newest first, and what has the same time in the order of the log. Rows come in that order,
 * so it is theirs: SQLite numbers a row one above all that are there. No column needs to hold it, and the indexes by
 * time end in it by themselves. A table without row ids has no such order.
 */
export const NEWEST_FIRST = "ORDER BY created_at DESC, rowid DESC";
/** The same backwards. */
export const OLDEST_FIRST = "ORDER BY created_at, rowid";

/** A row of a list that a further page begins after. */
export interface KeysetCursor {
  /** RFC 3339 in UTC. */
  readonly createdAt: string;
  readonly id: string;
}

/** Which page of a list is asked for. */
export interface PageQuery {
  /** The last row of the page before. */
  readonly after?: KeysetCursor;
  /** How many rows are wanted at most. */
  readonly limit: number;
}

/** A page of a list of what a workspace has. */
export interface WorkspacePageQuery extends PageQuery {
  readonly workspaceId: string;
}

/** Greater than the number of any row. */
const ROWID_MAX = "9223372036854775807";

/** One list of a table: the rows whose column `of` holds `owner`. */
interface List {
  readonly table: string;
  readonly of: string;
  readonly owner: string;
}

/** A part of a WHERE clause and its values. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/**
 * What comes after the row of the cursor, newest first. Where that row is gone meanwhile, what has its time is listed
 * once more rather than left out.
 */
function olderThan(list: List, cursor: KeysetCursor): Condition {
  return beyond(list, cursor, "<", ROWID_MAX);
}

/** What comes after the row of the cursor, oldest first. */
export function newerThan(list: List, cursor: KeysetCursor): Condition {
  return beyond(list, cursor, ">", "0");
}

function beyond(
  { table, of, owner }: List,
  { createdAt, id }: KeysetCursor,
  sign: "<" | ">",
  gone: string,
): Condition {
  const row = `SELECT rowid FROM ${table} WHERE ${of} = ? AND created_at = ? AND id = ?`;
  return {
    sql: `(created_at, rowid) ${sign} (?, coalesce((${row}), ${gone}))`,
    values: [createdAt, owner, createdAt, id],
  };
}

/** A page of all rows of a list, newest first. */
export function newestRows(
  db: ReadDatabase,
  list: List & { readonly columns: string },
  { after, limit }: PageQuery,
): readonly SqlRow[] {
  const page = after && olderThan(list, after);
  const sql = `SELECT ${list.columns} FROM ${list.table} WHERE ${list.of} = ? ${page ? `AND ${page.sql}` : ""}
    ${NEWEST_FIRST} LIMIT ? + 0`;
  return db.all(sql, list.owner, ...(page?.values ?? []), limit);
}

/** A page of all that a workspace has in a table, newest first. */
export function newestOfWorkspace(
  db: ReadDatabase,
  table: string,
  columns: string,
  { workspaceId: owner, ...page }: WorkspacePageQuery,
): readonly SqlRow[] {
  return newestRows(db, { table, of: "workspace_id", owner, columns }, page);
}

/**
 * Rows that one query looks at. A filter that hardly matches would else look at all of a workspace's, and nobody
 * else is answered meanwhile.
 */
export const ROWS_SCANNED_MAX = 1_000;

/** What one query has found. */
export interface RowPage<Row> {
  readonly rows: readonly Row[];
  /** Where to go on; null when nothing comes after. There may be more though no row, or too few, was found. */
  readonly next: KeysetCursor | null;
}

/** A list of which only some rows are wanted. */
export interface FilteredList extends List {
  readonly columns: string;
  /** The index that is walked. It ends in the time, so it is in the order of the list. */
  readonly index: string;
  /** Where the walk leads: `index` has all the columns of it. */
  readonly along: readonly Condition[];
  /** Which of the rows on the way are wanted. */
  readonly wanted: readonly Condition[];
}

/** The rows that are wanted, newest first, among the next {@link ROWS_SCANNED_MAX} of the list. */
export function findRows(db: ReadDatabase, list: FilteredList, { after, limit }: PageQuery): RowPage<SqlRow> {
  const { table, index, columns, wanted } = list;
  const along = [...list.along, ...(after ? [olderThan(list, after)] : [])];
  const from = `FROM ${table} INDEXED BY ${index}`;
  const way = allOf(along);
  const lastLooked = db.get(
    `SELECT id, created_at, rowid AS number ${from} WHERE ${way.sql} ${NEWEST_FIRST} LIMIT 1 OFFSET ${ROWS_SCANNED_MAX - 1}`,
    ...way.values,
  );
  const looked = lastLooked && [
    { sql: "(created_at, rowid) >= (?, ?)", values: [lastLooked.created_at ?? "", lastLooked.number ?? 0] },
  ];
  const { sql, values } = allOf([...along, ...(looked ?? []), ...wanted]);
  const rows = db.all(
    `SELECT ${columns} ${from} WHERE ${sql} ${NEWEST_FIRST} LIMIT ? + 0`,
    ...values,
    // One row more shows whether there is a next page.
    limit + 1,
  );
  const last = rows[limit - 1];
  if (rows.length > limit && last) return { rows: rows.slice(0, limit), next: cursorOf(last) };
  return { rows, next: lastLooked ? cursorOf(lastLooked) : null };
}

function allOf(conditions: readonly Condition[]): Condition {
  return {
    sql: conditions.map(({ sql }) => sql).join(" AND "),
    values: conditions.flatMap(({ values }) => values),
  };
}

/** The cursor of a row with `id` and `created_at`. */
export function cursorOf(row: SqlRow): KeysetCursor {
  return { id: String(row.id), createdAt: String(row.created_at) };
}

/** The condition that a column equals a value; none where the value is not given. */
export function equals(column: string, value: SqlValue | undefined): readonly Condition[] {
  return value === undefined ? [] : [{ sql: `${column} = ?`, values: [value] }];
}

/** The conditions of a range of times, from one on and before another. */
export function createdIn({ createdFrom, createdBefore }: CreatedRange): readonly Condition[] {
  return [
    ...(createdFrom === undefined ? [] : [{ sql: "created_at >= ?", values: [createdFrom] }]),
    ...(createdBefore === undefined ? [] : [{ sql: "created_at < ?", values: [createdBefore] }]),
  ];
}

/** Times of rows to list: RFC 3339 in UTC. */
export interface CreatedRange {
  readonly createdFrom?: string;
  readonly createdBefore?: string;
}
