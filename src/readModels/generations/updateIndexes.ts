import type { Projection } from "../../../projections/projection.ts";
import type { ReadDatabaseFile } from "../../ports/readDatabase.ts";

/** SQLite keeps a statement as it was written: what differs in white space alone is the same index. */
function normalized(sql: string): string {
  return sql.replaceAll(/\s+/g, " ").trim();
}

/** The indexes in a file by name; without those that SQLite makes by itself for a primary key. */
function indexesIn(db: ReadDatabaseFile): ReadonlyMap<string, string> {
  const rows = db.all("SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL");
  return new Map(rows.map(({ name, sql }) => [String(name), normalized(String(sql))]));
}

/**
 * Gives a file the indexes that its projection declares now: drops those that are declared no more or otherwise, and
 * makes those that are missing. Each is a transaction of its own, so an interruption loses one index at most, and the
 * next opening goes on. Takes as long as sorting the table does. Throws `ReadDatabaseError`.
 */
export function updateIndexes(db: ReadDatabaseFile, { tables }: Projection): void {
  const declared = new Set(tables.flatMap(({ indexes = [] }) => indexes.map(normalized)));
  for (const [name, sql] of indexesIn(db)) if (!declared.has(sql)) db.run(`DROP INDEX ${name}`);
  const present = new Set(indexesIn(db).values());
  for (const sql of declared) if (!present.has(sql)) db.run(sql);
}
