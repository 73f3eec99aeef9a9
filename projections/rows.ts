import type { ReadDatabase, SqlValue } from "../src/ports/readDatabase.ts";

/** The rows of a query. Its columns have the names and types of `Row`'s members: `AS` renames those that differ. */
export function allRows<Row>(db: ReadDatabase, sql: string, ...values: readonly SqlValue[]): readonly Row[] {
  return db.all(sql, ...values) as unknown as readonly Row[];
}

/** The first row of such a query; null when there is none. */
export function firstRow<Row>(db: ReadDatabase, sql: string, ...values: readonly SqlValue[]): Row | null {
  return (db.get(sql, ...values) ?? null) as unknown as Row | null;
}

/** SQL: these texts as the right side of IN. */
export function sqlList(texts: readonly string[]): string {
  return `(${texts.map((text) => `'${text}'`).join(", ")})`;
}

/** The list that a column holds as JSON; null when it holds none. */
export function listIn(value: SqlValue | undefined): readonly string[] | null {
  return typeof value === "string" ? (JSON.parse(value) as string[]) : null;
}

/** A column's text for a list that may be null. */
export function listText(list: readonly string[] | null | undefined): string | null {
  return list ? JSON.stringify(list) : null;
}
