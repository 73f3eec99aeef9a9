import type { Projection } from "../../../projections/projection.ts";
import type { ReadDatabaseFile } from "../../ports/readDatabase.ts";

/** SQLite stores a statement as written, so statements that differ only in white space are the same index. */
function normalized(sql: string): string {
  return sql.replaceAll(/\s+/g, " ").trim();
}

/** The indexes in a file by name, without those that SQLite creates for primary keys. */
function indexesIn(db: ReadDatabaseFile): ReadonlyMap<string, string> {
  const rows = db.all("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL");
  return new Map(rows.map(({ name, sql }) => [String(name), normalized(String(sql))]));
}

/**
 * Gives a file the indexes that its projection declares now: drops indexes that are no longer declared or were changed,
 * and creates missing ones. Each is its own transaction, so an interruption loses at most one index, and the next open
 * continues. Takes as long as sorting the table. Throws `ReadDatabaseError`.
 */
export function updateIndexes(db: ReadDatabaseFile, { tables }: Projection): void {
  const declared = new Set(tables.flatMap(({ indexes = [] }) => indexes.map(normalized)));
  for (const [name, sql] of indexesIn(db)) if (!declared.has(sql)) db.run(`DROP INDEX ${name}`);
  const present = new Set(indexesIn(db).values());
  for (const sql of declared) if (!present.has(sql)) db.run(sql);
}
