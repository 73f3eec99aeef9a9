import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Projection } from "../../../projections/projection.ts";
import { DAY_MS } from "../../kernel/time.ts";
import type { Position } from "../../ports/eventStore.ts";
import { type Catalog, databaseFileOf } from "./generationCatalog.ts";
import { type OpenGeneration, type ReadModelStorage, usableGeneration } from "./generationFiles.ts";

/** How long an interrupted build is kept so that it can be resumed. */
const SAVED_BUILD_MS_MAX = DAY_MS;

/**
 * Resumes the newest saved build of this projection that nobody works on any more; undefined when there is none.
 * Removes those of its saved builds that can't be continued.
 */
export function resumeGeneration(
  storage: ReadModelStorage,
  catalog: Catalog,
  projection: Projection,
  head: Position,
): OpenGeneration | undefined {
  for (const entry of catalog.generations()) {
    const isOurs = entry.name === projection.name && entry.version === projection.version;
    if (!isOurs || entry.status !== "building") continue;
    const path = join(storage.directory, entry.file);
    const db = catalog.claim(entry, () => storage.databases.resume(path));
    const generation = db && usableGeneration(storage, { entry, db }, projection, head);
    if (generation) return generation;
    if (db) catalog.remove(entry);
  }
  return undefined;
}

/** Removes the interrupted builds of a projection, but none that is still being built. */
export function discardBuilds(catalog: Catalog, { name }: Projection): void {
  for (const entry of catalog.generations()) {
    if (entry.status === "building" && entry.name === name) catalog.remove(entry);
  }
}

/** The builds that may still be resumed: of each projection and version the newest, if saved recently. */
function resumable(storage: ReadModelStorage, catalog: Catalog): ReadonlySet<number> {
  const numbers = new Map<string, number>();
  for (const { name, version, file, number, status } of catalog.generations()) {
    const key = `${name}.${version}`;
    if (status !== "building" || numbers.has(key)) continue;
    const savedAt = storage.databases.savedAt(join(storage.directory, file));
    if (savedAt !== null && savedAt > Date.now() - SAVED_BUILD_MS_MAX) numbers.set(key, number);
  }
  return new Set(numbers.values());
}

/** Removes abandoned builds that will not be resumed. Only for the owner of the directory. */
export function removeAbandonedBuilds(storage: ReadModelStorage, catalog: Catalog): void {
  const kept = resumable(storage, catalog);
  for (const entry of catalog.generations()) {
    if (entry.status === "building" && !kept.has(entry.number)) catalog.remove(entry);
  }
}

/**
 * Removes what dead processes and earlier switches left behind: abandoned builds, retired generations, and files that
 * the catalog doesn't list. Open files stay. Only for the owner of the directory.
 */
export function removeLeftBehind(storage: ReadModelStorage, catalog: Catalog): void {
  removeAbandonedBuilds(storage, catalog);
  for (const entry of catalog.generations()) if (entry.status === "retired") catalog.remove(entry);
  const known = new Set(catalog.generations().map(({ file }) => file));
  for (const file of readdirSync(storage.directory)) {
    const database = databaseFileOf(file);
    if (database && !known.has(database)) storage.databases.remove(join(storage.directory, database));
  }
}
