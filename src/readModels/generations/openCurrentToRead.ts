import { join } from "node:path";
import { ReadDatabaseError } from "../../ports/readDatabase.ts";
import type { Catalog } from "./generationCatalog.ts";
import type { OpenGeneration, ReadModelStorage } from "./generationFiles.ts";

/** A rebuild may switch between our look at the catalog and our opening of the file, so we look again. */
const OPEN_ATTEMPTS_MAX = 5;

/** Opens the current generation of a read model; undefined if it has none. Throws {@link ReadDatabaseError}. */
export function openCurrentToRead(
  { databases, directory }: Pick<ReadModelStorage, "databases" | "directory">,
  catalog: Catalog,
  name: string,
): Pick<OpenGeneration, "entry" | "db"> | undefined {
  for (let attempt = 1; ; attempt += 1) {
    const entry = catalog.current(name);
    if (!entry) return undefined;
    try {
      return { entry, db: databases.open(join(directory, entry.file), "read") };
    } catch (error) {
      if (!(error instanceof ReadDatabaseError) || attempt >= OPEN_ATTEMPTS_MAX) throw error;
    }
  }
}
