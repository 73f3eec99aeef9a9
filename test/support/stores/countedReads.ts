import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Projection } from "../../../projections/projection.ts";
import type { ProjectedRows, SqlRow } from "../../../src/ports/readDatabase.ts";

/** A read model in memory that counts all rows its queries scan, including those not returned. */
export interface CountedReads extends ProjectedRows {
  rowsScanned: number;
  close(): void;
}

/** Each `WHERE` calls a counting function first, so it runs once for each scanned row. */
export function countedReads({ tables }: Projection): CountedReads {
  const db = new DatabaseSync(":memory:");
  for (const { name, columns, indexes = [] } of tables) {
    db.exec(`CREATE TABLE ${name} (${columns})`);
    for (const index of indexes) db.exec(index);
  }
  const counted: CountedReads = {
    rowsScanned: 0,
    run: (sql, ...values) => void uncounted(sql).run(...values),
    get: (sql, ...values) => prepared(sql).get(...values) as SqlRow | undefined,
    change: (sql, ...values) => uncounted(sql).get(...values) as SqlRow | undefined,
    add: (sql, key, amounts) => void uncounted(sql).run(...key, ...amounts),
    all: (sql, ...values) => prepared(sql).all(...values) as SqlRow[],
    close: () => db.close(),
  };
  db.function("count_row", () => {
    counted.rowsScanned += 1;
    return 1;
  });
  const writing = new Map<string, StatementSync>();
  const uncounted = (sql: string) => {
    const statement = writing.get(sql) ?? db.prepare(sql);
    writing.set(sql, statement);
    return statement;
  };
  const statements = new Map<string, StatementSync>();
  const prepared = (sql: string) => {
    const statement = statements.get(sql) ?? db.prepare(sql.replaceAll("WHERE ", "WHERE count_row() AND "));
    statements.set(sql, statement);
    return statement;
  };
  return counted;
}
