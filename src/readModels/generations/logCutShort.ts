import { join } from "node:path";
import type { Projection } from "../../../projections/projection.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { ReadDatabaseError } from "../../ports/readDatabase.ts";
import { type EventReference, type GenerationMeta, readMeta } from "./checkpoint.ts";
import type { Catalog, GenerationEntry } from "./generationCatalog.ts";
import { discardBuilds, type ReadModelStorage } from "./generationFiles.ts";

/** What a file says about itself; null where it cannot be asked. */
function metaOf(
  { databases, directory }: ReadModelStorage,
  { file }: GenerationEntry,
): GenerationMeta | null {
  try {
    using db = databases.open(join(directory, file), "read");
    return readMeta(db);
  } catch (error) {
    if (error instanceof ReadDatabaseError) return null;
    throw error;
  }
}

/** Whether the log still has the event, or has cut it off, which it remembers. */
async function isInLog(store: EventStore, { stream, revision, id }: EventReference): Promise<boolean> {
  const [event] = await store.read(stream, revision, 1);
  if (event?.revision === revision) return event.id === id;
  return ((await store.lastRevision(stream)) ?? -1) >= revision;
}

/** The generations that are followed, or may be. */
function usable(catalog: Catalog): readonly GenerationEntry[] {
  return catalog.generations().filter(({ status }) => status === "current" || status === "ready");
}

/**
 * Whether read models hold events that the log does not: an older copy of it was put in its place, and may have grown
 * past their checkpoints since. Asks the log for one event of each generation at most.
 */
export async function isLogCutShort(
  store: EventStore,
  storage: ReadModelStorage,
  catalog: Catalog,
): Promise<boolean> {
  const metas = usable(catalog)
    .flatMap((entry) => metaOf(storage, entry) ?? [])
    .filter(({ logId }) => logId === storage.logId);
  // After the checkpoints: a rebuild beside the service may have moved them since an earlier head.
  const head = await store.head();
  if (metas.some(({ checkpoint }) => checkpoint > head)) return true;
  const lastEvents = metas.flatMap(({ lastEvent }) => lastEvent ?? []);
  for (const event of new Map(lastEvents.map((event) => [event.id, event])).values())
    if (!(await isInLog(store, event))) return true;
  return false;
}

/** Gives up all generations: of none can be said which of its rows the log still has. */
export function giveUpGenerations(catalog: Catalog, projections: readonly Projection[]): void {
  for (const entry of usable(catalog)) catalog.retire(entry);
  for (const projection of projections) discardBuilds(catalog, projection);
}
