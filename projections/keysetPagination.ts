import { allRows, firstRow, type ReadDatabase, type SqlValue } from "../src/ports/readDatabase.ts";

/**
 * The order of every list: newest first, and in reverse log order within the same time. Rows are inserted in log order
 * and SQLite numbers each one above the highest, so the rowid gives that order. It needs no column, and every index by
 * time ends in it. Tables WITHOUT ROWID have no such order.
 */
export const NEWEST_FIRST = "ORDER BY created_at DESC, rowid DESC";
export const OLDEST_FIRST = "ORDER BY created_at, rowid";

/** The row of a list after which the next page begins. */
export interface KeysetCursor {
  /** RFC 3339 in UTC. */
  readonly createdAt: string;
  readonly id: string;
}

/** Which page of a list to return. */
export interface PageQuery {
  /** The last row of the previous page. */
  readonly after?: KeysetCursor;
  /** The most rows to return. */
  readonly limit: number;
}

export interface WorkspacePageQuery extends PageQuery {
  readonly workspaceId: string;
}

/** Greater than every rowid. */
export const ROWID_MAX = "9223372036854775807";

/** The columns that a row of a list has at least. */
export const CURSOR_COLUMNS = "id, created_at AS createdAt";

/** One list of a table: the rows whose column `of` holds `owner`. */
interface List {
  readonly table: string;
  readonly of: string;
  readonly owner: string;
}

/** A list and what its rows show: the columns are named as the members of a `Row`. */
interface ListOf extends List {
  readonly columns: string;
}

/** A part of a WHERE clause and its values. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/**
 * The rows after the cursor's row, newest first. If that row is gone meanwhile, rows with the same time are listed
 * again rather than left out.
 */
function olderThan(list: List, cursor: KeysetCursor): Condition {
  return beyond(list, cursor, "<", ROWID_MAX);
}

/** The rows after the cursor's row, oldest first. */
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
export function newestRows<Row>(db: ReadDatabase, list: ListOf, { after, limit }: PageQuery): readonly Row[] {
  const page = after && olderThan(list, after);
  const sql = `SELECT ${list.columns} FROM ${list.table} WHERE ${list.of} = ? ${page ? `AND ${page.sql}` : ""}
    ${NEWEST_FIRST} LIMIT ? + 0`;
  return allRows(db, sql, list.owner, ...(page?.values ?? []), limit);
}

/** A page of all rows of a workspace in a table, newest first. */
export function newestOfWorkspace<Row = KeysetCursor>(
  db: ReadDatabase,
  { table, columns = CURSOR_COLUMNS }: { readonly table: string; readonly columns?: string },
  { workspaceId: owner, ...page }: WorkspacePageQuery,
): readonly Row[] {
  return newestRows(db, { table, of: "workspace_id", owner, columns }, page);
}

/**
 * The most rows that one query scans. Without it a filter that hardly matches would scan all rows of a workspace, and
 * the service would answer nobody else meanwhile.
 */
export const ROWS_SCANNED_MAX = 1_000;

/** The result of one query. */
export interface RowPage<Row> {
  readonly rows: readonly Row[];
  /** Where the next page continues; null after the last. A page may be short, or even empty, before that. */
  readonly next: KeysetCursor | null;
}

/** A list of which the query wants only some rows. */
interface FilteredList extends ListOf {
  /** The index to scan. It ends in the time, so it has the order of the list. */
  readonly index: string;
  /** The part of `index` to scan, within the query's range of times. The index has all columns of these conditions. */
  readonly along: readonly Condition[];
  /** Which of the scanned rows to return. */
  readonly wanted: readonly Condition[];
}

/** The wanted rows among the next {@link ROWS_SCANNED_MAX} of the list, newest first. */
export function findRows<Row extends KeysetCursor>(
  db: ReadDatabase,
  query: PageQuery & CreatedRange,
  list: FilteredList,
): RowPage<Row> {
  const { limit, createdFrom } = query;
  const { table, index, columns, wanted } = list;
  const from = `FROM ${table} INDEXED BY ${index}`;
  const along = [...list.along, ...newestBound(list, query)];
  const oldestBound = compares("created_at >=", createdFrom);
  const range = allOf([...along, ...oldestBound]);
  const lastScanned = firstRow<KeysetCursor & { readonly number: number }>(
    db,
    `SELECT ${CURSOR_COLUMNS}, rowid AS number ${from} WHERE ${range.sql} ${NEWEST_FIRST} LIMIT 1 OFFSET ${ROWS_SCANNED_MAX - 1}`,
    ...range.values,
  );
  const scanned = lastScanned && [
    { sql: "(created_at, rowid) >= (?, ?)", values: [lastScanned.createdAt, lastScanned.number] },
  ];
  // Of two bounds on one side, SQLite walks the index to the first, and only looks at the other in each row.
  const { sql, values } = allOf([...along, ...(scanned ?? oldestBound), ...wanted]);
  const rows = allRows<Row>(
    db,
    `SELECT ${columns} ${from} WHERE ${sql} ${NEWEST_FIRST} LIMIT ? + 0`,
    ...values,
    // One row more tells whether there is a next page.
    limit + 1,
  );
  const last = rows[limit - 1];
  if (rows.length > limit && last) return { rows: rows.slice(0, limit), next: cursorOf(last) };
  return { rows, next: lastScanned && cursorOf(lastScanned) };
}

/** Where to begin: after the cursor, or before the end of the range of times if that is older. */
function newestBound(
  list: List,
  { after, createdBefore }: Pick<PageQuery, "after"> & CreatedRange,
): readonly Condition[] {
  const isEndOlder = after && createdBefore !== undefined && createdBefore <= after.createdAt;
  return after && !isEndOlder ? [olderThan(list, after)] : compares("created_at <", createdBefore);
}

export function allOf(conditions: readonly Condition[]): Condition {
  return {
    sql: conditions.map(({ sql }) => sql).join(" AND "),
    values: conditions.flatMap(({ values }) => values),
  };
}

function cursorOf({ id, createdAt }: KeysetCursor): KeysetCursor {
  return { id, createdAt };
}

/** The condition that a column equals a value; none if the value is undefined. */
export function equals(column: string, value: SqlValue | undefined): readonly Condition[] {
  return compares(`${column} =`, value);
}

export function isOneOf(column: string, values: readonly SqlValue[]): Condition {
  return { sql: `${column} IN (${values.map(() => "?").join(", ")})`, values };
}

function compares(sql: string, value: SqlValue | undefined): readonly Condition[] {
  return value === undefined ? [] : [{ sql: `${sql} ?`, values: [value] }];
}

/** The conditions for a range of times: from `createdFrom` on, before `createdBefore`. */
export function createdIn({ createdFrom, createdBefore }: CreatedRange): readonly Condition[] {
  return [...compares("created_at >=", createdFrom), ...compares("created_at <", createdBefore)];
}

/** The range of times to list, RFC 3339 in UTC. */
export interface CreatedRange {
  readonly createdFrom?: string;
  readonly createdBefore?: string;
}
