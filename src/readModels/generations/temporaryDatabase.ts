import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Projection } from "../../../projections/projection.ts";
import { FOLDER_MODE } from "../../kernel/fileModes.ts";
import type { ReadDatabaseFile } from "../../ports/readDatabase.ts";
import { createTables } from "./createTables.ts";
import type { ReadModelStorage } from "./generationFiles.ts";

/** A database beside the read models: disposing of it removes it. The service removes abandoned ones. */
interface TemporaryDatabase extends Disposable {
  readonly db: ReadDatabaseFile;
}

/** A path that nobody else uses. */
export function temporaryPath({ directory }: ReadModelStorage, name: string): string {
  return join(directory, `scratch-${name}-${crypto.randomUUID()}.db`);
}

/** An empty database for one task. */
export function openTemporaryDatabase(storage: ReadModelStorage, name: string): TemporaryDatabase {
  const { databases } = storage;
  const path = temporaryPath(storage, name);
  const db = databases.open(path, "build");
  return {
    db,
    [Symbol.dispose]() {
      db.close();
      databases.remove(path);
    },
  };
}

/** The empty tables of a read model, with a checkpoint before the log's first event. */
export function createTemporaryDatabase(
  storage: ReadModelStorage,
  projection: Projection,
): TemporaryDatabase {
  mkdirSync(storage.directory, { recursive: true, mode: FOLDER_MODE });
  using undo = new DisposableStack();
  const scratch = undo.use(openTemporaryDatabase(storage, projection.name));
  createTables(scratch.db, projection, storage.logId);
  undo.move();
  return scratch;
}
