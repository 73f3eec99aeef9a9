import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Projection } from "../../../projections/projection.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { ReadDatabaseError } from "../../ports/readDatabase.ts";
import {
  type Catalog,
  databaseFileOf,
  type GenerationEntry,
  hasCatalog,
  openCatalog,
} from "./generationCatalog.ts";
import type { ReadModelStorage } from "./generationFiles.ts";
import { type EventReference, type GenerationMeta, readMeta } from "./generationMeta.ts";
import { discardBuilds } from "./savedBuilds.ts";

type Files = Pick<ReadModelStorage, "databases" | "directory">;

/** The meta row of a generation's file; null if the file cannot be read. */
function metaOf({ databases, directory }: Files, file: string): GenerationMeta | null {
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

/** Whether the log lacks events that these generations hold. Reads at most one event of the log for each. */
async function lacksEventsOf(metas: readonly GenerationMeta[], store: EventStore): Promise<boolean> {
  // Read after the checkpoints, which a rebuild beside the service may move past an earlier head.
  const head = await store.head();
  if (metas.some(({ checkpoint }) => checkpoint > head)) return true;
  const lastEvents = metas.flatMap(({ lastEvent }) => lastEvent ?? []);
  for (const event of new Map(lastEvents.map((event) => [event.id, event])).values())
    if (!(await isInLog(store, event))) return true;
  return false;
}

/** The generations that are followed or may become so. */
function usable(catalog: Catalog): readonly GenerationEntry[] {
  return catalog.generations().filter(({ status }) => status === "current" || status === "ready");
}

/**
 * Whether read models hold events that the log lacks, because the log was replaced with an older copy. That copy may
 * have grown past their checkpoints since.
 */
export async function isLogCutShort(
  store: EventStore,
  storage: ReadModelStorage,
  catalog: Catalog,
): Promise<boolean> {
  const metas = usable(catalog).flatMap(({ file }) => metaOf(storage, file) ?? []);
  return lacksEventsOf(
    metas.filter(({ logId }) => logId === storage.logId),
    store,
  );
}

/** The files of the generations that may be in use: all that are there, if no catalog can tell. */
function usableFiles({ databases, directory }: Files): readonly string[] {
  try {
    if (hasCatalog(directory)) {
      using catalog = openCatalog(databases, directory);
      return usable(catalog).map(({ file }) => file);
    }
  } catch (error) {
    if (!(error instanceof ReadDatabaseError)) throw error;
  }
  return filesIn(directory).filter((file) => databaseFileOf(file) === file);
}

/** None where there is no such directory. Nor where we may not look into it: the follower reports that. */
function filesIn(directory: string): readonly string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/**
 * As {@link isLogCutShort}, for a process that has opened no read model yet. `logIds`: the ids of all copies of the log
 * up to this one, the original's first. A read model made from a later copy shows that this log lacks at least what made
 * that copy another one.
 */
export async function areReadModelsAhead(
  store: EventStore,
  files: Files,
  logIds: readonly [string, ...string[]],
): Promise<boolean> {
  const metas = usableFiles(files).flatMap((file) => metaOf(files, file) ?? []);
  const [original] = logIds;
  const isLaterCopy = (logId: string) => logId.startsWith(`${original}/`) && !logIds.includes(logId);
  if (metas.some(({ logId }) => isLaterCopy(logId))) return true;
  return lacksEventsOf(
    metas.filter(({ logId }) => logId === logIds.at(-1)),
    store,
  );
}

/** Gives up all generations, because nobody can tell which of their rows come from events the log still has. */
export function giveUpGenerations(catalog: Catalog, projections: readonly Projection[]): void {
  for (const entry of usable(catalog)) catalog.retire(entry);
  for (const projection of projections) discardBuilds(catalog, projection);
}
