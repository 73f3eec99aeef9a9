import { join } from "node:path";
import type { Projection } from "../../../projections/projection.ts";
import { LOG_START, type Position } from "../../ports/eventStore.ts";
import { ReadDatabaseError, type ReadDatabaseFile, type ReadDatabases } from "../../ports/readDatabase.ts";
import { createTables } from "./createTables.ts";
import type { Catalog, GenerationEntry } from "./generationCatalog.ts";
import { type GenerationMeta, readMeta } from "./generationMeta.ts";
import { updateIndexes } from "./updateIndexes.ts";

/** Where read models are stored, and which log they are computed from. */
export interface ReadModelStorage {
  readonly databases: ReadDatabases;
  /** `<DATA_DIR>/projections`. */
  readonly directory: string;
  readonly logId: string;
}

/** A generation that can continue from its checkpoint. */
export interface OpenGeneration {
  readonly entry: GenerationEntry;
  readonly db: ReadDatabaseFile;
  readonly checkpoint: Position;
}

function isOfLog(meta: GenerationMeta, projection: Projection, logId: string): boolean {
  return meta.logId === logId && meta.projection === projection.name && meta.version === projection.version;
}

/**
 * Opens a generation for writing. Undefined when it can't be continued: made from another log or by another version,
 * ahead of the log (which was restored from an older copy), missing or damaged.
 */
export function openGeneration(
  storage: ReadModelStorage,
  entry: GenerationEntry,
  projection: Projection,
  head: Position,
): OpenGeneration | undefined {
  if (entry.version !== projection.version) return undefined;
  const path = join(storage.directory, entry.file);
  const db = unlessUnusable(() => storage.databases.open(path, "write"));
  return db && usableGeneration(storage, { entry, db }, projection, head);
}

/** The generation, with its indexes, if it can be continued. Otherwise, or if this throws, its file is closed. */
export function usableGeneration(
  { logId }: ReadModelStorage,
  { entry, db }: Pick<OpenGeneration, "entry" | "db">,
  projection: Projection,
  head: Position,
): OpenGeneration | undefined {
  let generation: OpenGeneration | undefined;
  try {
    generation = unlessUnusable(() => {
      const meta = readMeta(db);
      if (!isOfLog(meta, projection, logId) || meta.checkpoint > head) return undefined;
      updateIndexes(db, projection);
      return { entry, db, checkpoint: meta.checkpoint };
    });
    return generation;
  } finally {
    if (!generation) db.close();
  }
}

/** The result of `work`; undefined when the file is incomplete or damaged. Rethrows `unavailable`: a retry may help. */
function unlessUnusable<Result>(work: () => Result): Result | undefined {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ReadDatabaseError) || error.failure === "unavailable") throw error;
    return undefined;
  }
}

/** Creates an empty generation and adds it to the catalog. */
export function createGeneration(
  storage: ReadModelStorage,
  catalog: Catalog,
  projection: Projection,
  mode: "write" | "build",
): OpenGeneration {
  let db: ReadDatabaseFile | undefined;
  let path = "";
  try {
    const entry = catalog.create(projection.name, projection.version, ({ file }) => {
      path = join(storage.directory, file);
      db = storage.databases.open(path, mode);
      createTables(db, projection, storage.logId);
    });
    if (!db) throw new Error(`no database was opened for ${entry.file}`);
    return { entry, db, checkpoint: LOG_START };
  } catch (error) {
    db?.close();
    if (path !== "") storage.databases.remove(path);
    throw error;
  }
}

/**
 * Opens the current generation of a projection. If it can't be continued, a ready one becomes current, or else an
 * empty one: `replaced` is the one before. Only for the owner of the directory.
 */
export function openCurrent(
  storage: ReadModelStorage,
  catalog: Catalog,
  projection: Projection,
  head: Position,
) {
  const current = catalog.current(projection.name);
  const opened = current && openGeneration(storage, current, projection, head);
  if (opened) return { generation: opened, replaced: undefined };
  const generation =
    openReady(storage, catalog, projection, head) ?? createGeneration(storage, catalog, projection, "write");
  return { generation, replaced: catalog.makeCurrent(generation.entry) };
}

function openReady(
  storage: ReadModelStorage,
  catalog: Catalog,
  projection: Projection,
  head: Position,
): OpenGeneration | undefined {
  for (const entry of catalog.generations()) {
    if (entry.status !== "ready" || entry.name !== projection.name) continue;
    const opened = openGeneration(storage, entry, projection, head);
    if (opened) return opened;
  }
  return undefined;
}

/**
 * Retires generations that no projection of this program will ever use: other names and older ready versions. A ready
 * generation of a later version was built for a later release of the program.
 */
export function retireOutdated(catalog: Catalog, projections: readonly Projection[]): void {
  const versions = new Map(projections.map(({ name, version }) => [name, version]));
  for (const entry of catalog.generations()) {
    const version = versions.get(entry.name);
    const isOutdated = version === undefined || (entry.status === "ready" && entry.version < version);
    if (isOutdated && entry.status !== "building") catalog.retire(entry);
  }
}
