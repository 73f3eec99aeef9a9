import type { ProjectedRows, ReadDatabase, SqlValue } from "../src/ports/readDatabase.ts";

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

function insert(table: string, columns: readonly string[]): string {
  return `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
}

/** Makes the function that inserts a row into a table. The row's members are named like the columns. */
export function insertInto<const Column extends string>(table: string, columns: readonly Column[]) {
  const sql = insert(table, columns);
  return (db: ReadDatabase, row: Readonly<Record<Column, SqlValue>>): void =>
    db.run(sql, ...columns.map((column) => row[column]));
}

/**
 * Makes the function that adds amounts to the sums of one row, and makes the row if there is none. Key and amounts are in
 * the order of their columns. `apply` must not read these sums: see `ProjectedRows.add`.
 */
export function addInto(table: string, key: readonly string[], sums: readonly string[]) {
  const added = sums.map((sum) => `${sum} = ${sum} + excluded.${sum}`).join(", ");
  const sql = `${insert(table, [...key, ...sums])} ON CONFLICT DO UPDATE SET ${added}`;
  return (db: ProjectedRows, keyValues: readonly SqlValue[], amounts: readonly number[]): void =>
    db.add(sql, keyValues, amounts);
}
