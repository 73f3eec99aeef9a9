import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Projection } from "../../../projections/projection.ts";
import type { ReadDatabaseFile } from "../../ports/readDatabase.ts";
import { createTables } from "./createTables.ts";
import type { ReadModelStorage } from "./generationFiles.ts";

/** A database beside the read models that one task creates and removes. The service removes abandoned ones. */
export interface TemporaryDatabase {
  readonly path: string;
  readonly db: ReadDatabaseFile;
}

/** A path that nobody else uses. */
export function temporaryPath({ directory }: ReadModelStorage, name: string): string {
  return join(directory, `scratch-${name}-${crypto.randomUUID()}.db`);
}

/** The empty tables of a read model, with a checkpoint before the log's first event. */
export function createTemporaryDatabase(
  storage: ReadModelStorage,
  projection: Projection,
): TemporaryDatabase {
  mkdirSync(storage.directory, { recursive: true, mode: 0o700 });
  const path = temporaryPath(storage, projection.name);
  const db = storage.databases.open(path, "build");
  try {
    createTables(db, projection, storage.logId);
    return { path, db };
  } catch (error) {
    removeTemporaryDatabase(storage, { path, db });
    throw error;
  }
}

export function removeTemporaryDatabase(
  { databases }: ReadModelStorage,
  { path, db }: TemporaryDatabase,
): void {
  db.close();
  databases.remove(path);
}
