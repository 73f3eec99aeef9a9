import type { Projection } from "../../projections/projection.ts";
import type { EventStore, Position } from "../ports/eventStore.ts";
import { type Applier, feedToHead, makeApplier } from "./applier.ts";
import { type Catalog, type GenerationEntry, openCatalog } from "./catalog.ts";
import { clearAway, createGeneration, type ReadModelPlace } from "./generation.ts";

/** How long a rebuild beside a running service waits for it to switch. */
const SWITCH_WAIT_MS_MAX = 60_000;
const SWITCH_POLL_MS = 50;

/** How far a reading of the log has come. */
export interface ReadingProgress {
  /** Events read so far. */
  readonly events: number;
  readonly position: Position;
  /** Where the head was when the reading began. */
  readonly head: Position;
  readonly elapsedMs: number;
  readonly eventsPerSecond: number;
}

export interface RebuildOptions extends ReadModelPlace {
  readonly store: EventStore;
  /** Those to be rebuilt. */
  readonly projections: readonly Projection[];
  /** Whether this process owns the directory. Else a running service is waited for to switch. */
  readonly owner: boolean;
  readonly onProgress?: (progress: ReadingProgress) => void;
  /** Gives up and leaves nothing behind. */
  readonly signal: AbortSignal;
  readonly switchWaitMsMax?: number;
}

export interface RebuildResult {
  readonly name: string;
  readonly version: number;
  readonly file: string;
  /**
   * `current`: it is what readers see. `ready`: complete, and the service will take it over when it next looks.
   * `failed`: nothing has changed for readers; `reason` says why.
   */
  readonly outcome: "current" | "ready" | "failed";
  readonly reason: string | null;
}

interface Build {
  readonly entry: GenerationEntry;
  readonly applier: Applier;
  result: RebuildResult | undefined;
}

/** Counts a reading's events, and tells how fast they go by. */
export function meter(
  head: Position,
  onProgress: ((progress: ReadingProgress) => void) | undefined,
): (events: number, position: Position) => void {
  const startedAt = performance.now();
  let total = 0;
  return (events, position) => {
    total += events;
    const elapsedMs = performance.now() - startedAt;
    const eventsPerSecond = Math.round((total / Math.max(elapsedMs, 1)) * 1_000);
    onProgress?.({ events: total, position, head, elapsedMs, eventsPerSecond });
  };
}

function resultOf(
  { entry }: Build,
  outcome: RebuildResult["outcome"],
  reason: string | null = null,
): RebuildResult {
  return { name: entry.name, version: entry.version, file: entry.file, outcome, reason };
}

/** Reads the log once, for all builds. */
async function build(options: RebuildOptions, builds: readonly Build[]): Promise<void> {
  const appliers = builds.map(({ applier }) => applier);
  const note = meter(await options.store.head(), options.onProgress);
  for await (const events of feedToHead(options.store, appliers)) {
    options.signal.throwIfAborted();
    const furthest = appliers.find(({ failure }) => !failure);
    if (furthest) note(events, furthest.position);
  }
}

function publish(catalog: Catalog, build: Build): void {
  const { entry, applier } = build;
  if (applier.failure) {
    build.result = resultOf(build, "failed", applier.failure.reason);
    return;
  }
  const isReady = catalog.makeReady(entry, () => applier.db.publish());
  build.result = isReady
    ? resultOf(build, "ready")
    : resultOf(build, "failed", "a service that started meanwhile cleared it away: rebuild again");
}

/** Lets go of what didn't become ready. */
function abandon(catalog: Catalog, builds: readonly Build[]): void {
  for (const { entry, applier, result } of builds) {
    applier.db.close();
    if (result?.outcome !== "ready" && result?.outcome !== "current") catalog.remove(entry);
  }
}

/** Whether the service has decided on this generation; it removes the entry of one that it refuses. */
function outcomeOf(catalog: Catalog, build: Build): RebuildResult {
  const entry = catalog.generations().find(({ number }) => number === build.entry.number);
  if (entry?.status === "current") return resultOf(build, "current");
  if (entry?.status === "ready") return resultOf(build, "ready");
  const current = catalog.current(build.entry.name);
  // A rebuild that was ready after ours may have come and gone past it.
  if (current && current.number > build.entry.number) return resultOf(build, "current");
  return resultOf(build, "failed", "the service could not follow it to the live position: its log says why");
}

async function awaitSwitch(
  catalog: Catalog,
  ready: readonly Build[],
  options: RebuildOptions,
): Promise<void> {
  const deadline = Date.now() + (options.switchWaitMsMax ?? SWITCH_WAIT_MS_MAX);
  for (;;) {
    for (const build of ready) build.result = outcomeOf(catalog, build);
    if (ready.every(({ result }) => result?.outcome !== "ready")) return;
    if (Date.now() >= deadline || options.signal.aborted) return;
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

/**
 * Builds the read models anew from one reading of the log, aside from what readers see, and then puts them in
 * place: by itself as the owner, else by waiting for the service, which follows them to the live position and
 * switches. One that fails doesn't hold up the others. Rejects when the store does, or with the signal's reason.
 */
export async function rebuildReadModels(options: RebuildOptions): Promise<readonly RebuildResult[]> {
  const { databases, directory, projections, owner, signal } = options;
  signal.throwIfAborted();
  const catalog = openCatalog(databases, directory);
  const builds: Build[] = [];
  try {
    if (owner) clearAway(options, catalog);
    for (const projection of projections) {
      const { entry, db, checkpoint } = createGeneration(options, catalog, projection, "build");
      builds.push({ entry, applier: makeApplier(projection, db, checkpoint), result: undefined });
    }
    await build(options, builds);
    for (const build of builds) publish(catalog, build);
    const ready = builds.filter(({ result }) => result?.outcome === "ready");
    if (owner) switchNow(catalog, ready);
    else await awaitSwitch(catalog, ready, options);
    return builds.map((build) => build.result ?? resultOf(build, "failed", "it was not finished"));
  } finally {
    abandon(catalog, builds);
    catalog.close();
  }
}
