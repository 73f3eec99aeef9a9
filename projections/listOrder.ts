import type { SqlValue } from "../src/ports/readDatabase.ts";

/**
 * The order of every list: newest first, and what has the same time in the order of the log. Rows come in that order,
 * so it is theirs: SQLite numbers a row one above all that are there. No column needs to hold it, and the indexes by
 * time end in it by themselves. A table without row ids has no such order.
 */
export const NEWEST_FIRST = "ORDER BY created_at DESC, rowid DESC";
/** The same backwards. */
export const OLDEST_FIRST = "ORDER BY created_at, rowid";

/** A row of a list that a further page begins after. */
export interface ListPlace {
  /** RFC 3339 in UTC. */
  readonly createdAt: string;
  readonly id: string;
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
interface Condition {
  readonly sql: string;
  readonly values: readonly SqlValue[];
}

/**
 * What comes after `place`, newest first. Where that row is gone meanwhile, what has its time is told once more rather
 * than left out.
 */
export function olderThan(list: List, place: ListPlace): Condition {
  return beyond(list, place, "<", ROWID_MAX);
}

/** What comes after `place`, oldest first. */
export function newerThan(list: List, place: ListPlace): Condition {
  return beyond(list, place, ">", "0");
}

function beyond(
  { table, of, owner }: List,
  { createdAt, id }: ListPlace,
  sign: "<" | ">",
  gone: string,
): Condition {
  const row = `SELECT rowid FROM ${table} WHERE ${of} = ? AND created_at = ? AND id = ?`;
  return {
    sql: `(created_at, rowid) ${sign} (?, coalesce((${row}), ${gone}))`,
    values: [createdAt, owner, createdAt, id],
  };
}
