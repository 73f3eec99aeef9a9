import { join } from "node:path";
import type { Projection } from "../../projections/projection.ts";
import type { EventStore, Position } from "../ports/eventStore.ts";
import { ReadDatabaseError } from "../ports/readDatabase.ts";
import { type Applier, commit, createApplier } from "./applyEvents.ts";
import {
  type Catalog,
  type GenerationEntry,
  openCatalog,
  openOwnedCatalog,
} from "./generations/generationCatalog.ts";
import { createGeneration, type ReadModelStorage } from "./generations/generationFiles.ts";
import { isLogCutShort } from "./generations/logCutShort.ts";
import { discardBuilds, removeLeftBehind, resumeGeneration } from "./generations/savedBuilds.ts";
import { feedWithProgress, type ReadingProgress } from "./logReadProgress.ts";

/** How long a rebuild beside a running service waits for it to switch. */
const SWITCH_WAIT_MS_MAX = 60_000;
const SWITCH_POLL_MS = 50;
/** How often to save unfinished builds. Saving takes at most a twentieth of the time. */
const SAVE_EVERY_MS = 10_000;
const SAVE_SHARE_MAX = 1 / 20;

export interface RebuildOptions extends ReadModelStorage {
  readonly store: EventStore;
  readonly projections: readonly Projection[];
  /** Whether this process owns the directory. If not, the rebuild waits for the running service to switch. */
  readonly owner: boolean;
  readonly onProgress?: (progress: ReadingProgress) => void;
  /** Interrupts the rebuild. It saves its progress, and the next rebuild of the same read models resumes there. */
  readonly signal: AbortSignal;
  /** Starts over, even if an interrupted rebuild could be resumed. */
  readonly fresh?: boolean;
  readonly saveEveryMs?: number;
  readonly switchWaitMsMax?: number;
}

export interface RebuildResult {
  readonly name: string;
  readonly version: number;
  readonly file: string;
  /**
   * `current`: readers see it now. `ready`: complete; the service will switch to it the next time it looks.
   * `failed`: nothing has changed for readers; `reason` says why.
   */
  readonly outcome: "current" | "ready" | "failed";
  readonly reason: string | null;
  /** Where it resumed after an interruption; null if it started from the beginning. */
  readonly resumedFrom: Position | null;
}

interface Build {
  readonly entry: GenerationEntry;
  readonly applier: Applier;
  readonly resumedFrom: Position | null;
  /** The number of the generation that readers saw when this one became ready. */
  replaces?: number | undefined;
  result: RebuildResult | undefined;
}

function resultOf(
  { entry, resumedFrom }: Build,
  outcome: RebuildResult["outcome"],
  reason: string | null = null,
): RebuildResult {
  return { name: entry.name, version: entry.version, file: entry.file, outcome, reason, resumedFrom };
}

async function startBuilds(options: RebuildOptions, catalog: Catalog, builds: Build[]): Promise<void> {
  const head = await options.store.head();
  for (const projection of options.projections) {
    if (options.fresh) discardBuilds(catalog, projection);
    const resumed = resumeGeneration(options, catalog, projection, head);
    const { entry, db, checkpoint } = resumed ?? createGeneration(options, catalog, projection, "build");
    const applier = createApplier(projection, db, checkpoint);
    builds.push({ entry, applier, resumedFrom: resumed?.checkpoint ?? null, result: undefined });
  }
}

/** Returns a function that saves the builds when that is due. */
function saving({ saveEveryMs = SAVE_EVERY_MS }: RebuildOptions, builds: readonly Build[]) {
  let dueAt = performance.now() + saveEveryMs;
  return async () => {
    const startedAt = performance.now();
    if (startedAt < dueAt) return;
    await saveAll(builds);
    const endedAt = performance.now();
    dueAt = endedAt + Math.max(saveEveryMs, (endedAt - startedAt) / SAVE_SHARE_MAX);
  };
}

/** Saves every build that can still be finished. One that cannot be saved (no room, say) starts over the next time. */
async function saveAll(builds: readonly Build[]): Promise<void> {
  for (const { applier, result } of builds) {
    if (result) continue;
    commit(applier);
    if (applier.failure) continue;
    try {
      await applier.db.save();
    } catch (error) {
      if (!(error instanceof ReadDatabaseError) || error.failure !== "unavailable") throw error;
    }
  }
}

function publish(catalog: Catalog, build: Build): void {
  const { entry, applier } = build;
  if (applier.failure) {
    build.result = resultOf(build, "failed", applier.failure.reason);
    return;
  }
  const isReady = catalog.makeReady(entry, () => {
    build.replaces = catalog.current(entry.name)?.number;
    applier.db.publish();
  });
  build.result = isReady
    ? resultOf(build, "ready")
    : resultOf(build, "failed", "a service that started meanwhile removed it: rebuild again");
}

/** Discards builds that failed, and builds interrupted before their first save. */
function abandon({ databases, directory }: RebuildOptions, catalog: Catalog, builds: readonly Build[]): void {
  for (const { entry, applier, result } of builds) {
    applier.db.close();
    const isSaved = databases.savedAt(join(directory, entry.file)) !== null;
    if (result ? result.outcome === "failed" : applier.failure || !isSaved) catalog.remove(entry);
  }
}

/** What the service did with this generation. It removes the entry of one that it refuses. */
function outcomeOf(catalog: Catalog, build: Build): RebuildResult {
  const entry = catalog.generations().find(({ number }) => number === build.entry.number);
  if (entry?.status === "current") return resultOf(build, "current");
  if (entry?.status === "ready") return resultOf(build, "ready");
  const current = catalog.current(build.entry.name);
  // The service may already have switched on from ours, to that of another rebuild.
  if (current && current.number !== build.replaces) return resultOf(build, "current");
  return resultOf(build, "failed", "the service could not bring it up to date: its log lines say why");
}

async function awaitSwitch(
  catalog: Catalog,
  ready: readonly Build[],
  options: RebuildOptions,
): Promise<void> {
  const deadline = performance.now() + (options.switchWaitMsMax ?? SWITCH_WAIT_MS_MAX);
  for (;;) {
    for (const build of ready) build.result = outcomeOf(catalog, build);
    if (ready.every(({ result }) => result?.outcome !== "ready")) return;
    if (performance.now() >= deadline || options.signal.aborted) return;
    await Bun.sleep(SWITCH_POLL_MS);
  }
}

function switchNow(catalog: Catalog, ready: readonly Build[]): void {
  for (const build of ready) {
    const replaced = catalog.makeCurrent(build.entry);
    if (replaced) catalog.remove(replaced);
    build.result = resultOf(build, "current");
  }
}

/** Why nothing is rebuilt from a log that lacks events: the read models are all that shows it. */
export const LOG_CUT_SHORT_REFUSAL =
  "the read models hold events that the log lacks: start the service (again): it then holds unfinished mail, and rebuilds them";

/**
 * Rebuilds the read models from one reading of the log, into files that readers do not see yet, and then switches to
 * them. The owner switches itself; otherwise the running service catches them up and switches, and we wait for that.
 * One that fails does not hold up the others. Rejects when the store does, or with the signal's reason; progress is
 * saved, and the next call resumes there. A killed process or a power failure loses what was built since the last save.
 * Also rejects, and changes nothing, when the log lacks events that read models hold.
 */
export async function rebuildReadModels(options: RebuildOptions): Promise<readonly RebuildResult[]> {
  const { databases, directory, owner, signal } = options;
  signal.throwIfAborted();
  const catalog = owner ? openOwnedCatalog(databases, directory).catalog : openCatalog(databases, directory);
  const builds: Build[] = [];
  try {
    if (await isLogCutShort(options.store, options, catalog)) throw new Error(LOG_CUT_SHORT_REFUSAL);
    if (owner) removeLeftBehind(options, catalog);
    await startBuilds(options, catalog, builds);
    const appliers = builds.map(({ applier }) => applier);
    await feedWithProgress(options, appliers, saving(options, builds));
    for (const build of builds) publish(catalog, build);
    const ready = builds.filter(({ result }) => result?.outcome === "ready");
    if (owner) switchNow(catalog, ready);
    else await awaitSwitch(catalog, ready, options);
    return builds.map((build) => build.result ?? resultOf(build, "failed", "it was not finished"));
  } catch (error) {
    await saveAll(builds);
    throw error;
  } finally {
    abandon(options, catalog, builds);
    catalog.close();
  }
}
