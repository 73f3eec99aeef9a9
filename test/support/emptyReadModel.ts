import type { Projection } from "../../projections/projection.ts";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readModelDatabases.ts";
import type { ReadDatabaseFile } from "../../src/ports/readDatabase.ts";
import { createTables } from "../../src/readModels/generations/createTables.ts";

/** The empty tables of a read model, in memory. */
export function emptyReadModel(projection: Projection): ReadDatabaseFile {
  const db = sqliteReadDatabases.open(":memory:", "build");
  createTables(db, projection, "log");
  return db;
}
