import type { ReadDatabase, SqlValue } from "../src/ports/readDatabase.ts";

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

/** Makes the function that inserts a row into a table. The row's members are named like the columns. */
export function insertInto<const Column extends string>(table: string, columns: readonly Column[]) {
  const sql = `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${columns.map(() => "?").join(", ")})`;
  return (db: ReadDatabase, row: Readonly<Record<Column, SqlValue>>): void =>
    db.run(sql, ...columns.map((column) => row[column]));
}
