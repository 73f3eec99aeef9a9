import type { Projection } from "../../../projections/projection.ts";
import type { ReadDatabaseFile } from "../../ports/readDatabase.ts";
import { createMeta } from "./generationMeta.ts";
import { updateIndexes } from "./updateIndexes.ts";

/** Creates the empty tables of a new generation, with a checkpoint before the log's first event. */
export function createTables(db: ReadDatabaseFile, projection: Projection, logId: string): void {
  db.begin();
  createMeta(db, projection, logId);
  for (const { name, columns } of projection.tables) db.run(`CREATE TABLE ${name} (${columns})`);
  updateIndexes(db, projection);
  db.commit();
}
