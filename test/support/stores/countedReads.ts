import { DatabaseSync, type StatementSync } from "node:sqlite";
import type { Projection } from "../../../projections/projection.ts";
import type { ProjectedRows, SqlRow } from "../../../src/ports/readDatabase.ts";

/** A read model in memory that counts the rows its queries step over, those too that they do not answer. */
export interface CountedReads extends ProjectedRows {
  rowsLookedAt: number;
  close(): void;
}

/** Every `WHERE` asks a function of ours first, so it is called once for each row that a query stands on. */
export function countedReads({ tables }: Projection): CountedReads {
  const db = new DatabaseSync(":memory:");
  for (const { name, columns, indexes = [] } of tables) {
    db.exec(`CREATE TABLE ${name} (${columns})`);
    for (const index of indexes) db.exec(index);
  }
  const counted: CountedReads = {
    rowsLookedAt: 0,
    run: (sql, ...values) => void uncounted(sql).run(...values),
    get: (sql, ...values) => prepared(sql).get(...values) as SqlRow | undefined,
    change: (sql, ...values) => uncounted(sql).get(...values) as SqlRow | undefined,
    add: (sql, key, amounts) => void uncounted(sql).run(...key, ...amounts),
    all: (sql, ...values) => prepared(sql).all(...values) as SqlRow[],
    close: () => db.close(),
  };
  db.function("looked_at", () => {
    counted.rowsLookedAt += 1;
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
    const statement = statements.get(sql) ?? db.prepare(sql.replaceAll("WHERE ", "WHERE looked_at() AND "));
    statements.set(sql, statement);
    return statement;
  };
  return counted;
}
