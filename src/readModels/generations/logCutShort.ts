import { join } from "node:path";
import type { Projection } from "../../../projections/projection.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { ReadDatabaseError } from "../../ports/readDatabase.ts";
import { type EventReference, type GenerationMeta, readMeta } from "./checkpoint.ts";
import type { Catalog, GenerationEntry } from "./generationCatalog.ts";
import { discardBuilds, type ReadModelStorage } from "./generationFiles.ts";

/** The meta row of a generation's file; null if the file cannot be read. */
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

/** Whether the log has the event, or had it and truncated it on purpose. */
async function isInLog(store: EventStore, { stream, revision, id }: EventReference): Promise<boolean> {
  const [event] = await store.read(stream, revision, 1);
  if (event?.revision === revision) return event.id === id;
  return ((await store.lastRevision(stream)) ?? -1) >= revision;
}

/** The generations that are followed or may become so. */
function usable(catalog: Catalog): readonly GenerationEntry[] {
  return catalog.generations().filter(({ status }) => status === "current" || status === "ready");
}

/**
 * Whether read models hold events that the log lacks, because the log was replaced with an older copy. That copy may
 * have grown past their checkpoints since. Reads at most one event of the log for each generation.
 */
export async function isLogCutShort(
  store: EventStore,
  storage: ReadModelStorage,
  catalog: Catalog,
): Promise<boolean> {
  const metas = usable(catalog)
    .flatMap((entry) => metaOf(storage, entry) ?? [])
    .filter(({ logId }) => logId === storage.logId);
  // Read after the checkpoints, which a rebuild beside the service may move past an earlier head.
  const head = await store.head();
  if (metas.some(({ checkpoint }) => checkpoint > head)) return true;
  const lastEvents = metas.flatMap(({ lastEvent }) => lastEvent ?? []);
  for (const event of new Map(lastEvents.map((event) => [event.id, event])).values())
    if (!(await isInLog(store, event))) return true;
  return false;
}

/** Gives up all generations, because nobody can tell which of their rows come from events the log still has. */
export function giveUpGenerations(catalog: Catalog, projections: readonly Projection[]): void {
  for (const entry of usable(catalog)) catalog.retire(entry);
  for (const projection of projections) discardBuilds(catalog, projection);
}
