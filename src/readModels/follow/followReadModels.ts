import type { Projection } from "../../../projections/projection.ts";
import { nextTurn, sleep } from "../../kernel/concurrency/sleep.ts";
import { HOUR_MS } from "../../kernel/time.ts";
import { type EventStore, LOG_START, type Position, StoreError } from "../../ports/eventStore.ts";
import { ReadDatabaseError } from "../../ports/readDatabase.ts";
import { commit, moveTo, stop, TRANSACTION_EVENTS_MAX } from "../applyEvents.ts";
import { type Catalog, type GenerationEntry, openOwnedCatalog } from "../generations/generationCatalog.ts";
import {
  openCurrent,
  openGeneration,
  type ReadModelStorage,
  retireOutdated,
} from "../generations/generationFiles.ts";
import { giveUpGenerations, isLogCutShort } from "../generations/logCutShort.ts";
import { removeAbandonedBuilds, removeLeftBehind } from "../generations/savedBuilds.ts";
import { CatchUp } from "./catchUp.ts";
import { type FollowedGeneration, followedGeneration } from "./followedGeneration.ts";
import type { OnFollowEvent } from "./followerThreadMessages.ts";
import { FollowNotifier } from "./followNotifier.ts";
import { SharedSubscription } from "./sharedSubscription.ts";

/** How often the follower removes interrupted builds that are too old to resume. */
const REMOVE_BUILDS_MS = HOUR_MS;
/** How often the follower looks for generations built by others, and commits what is not committed yet. */
const TICK_MS = 200;
/** The default wait before retrying a projection whose database failed, or a reading that the store refused. */
const RETRY_MS = 2_000;
/**
 * After a batch of this many events the follower rests this long, so that the next events share a transaction. A
 * transaction costs as much as several rows, and a page written once needs no second copy in the write-ahead log.
 * Fewer events are applied without a rest.
 */
const BUSY_BATCH_EVENTS = 8;
const BUSY_REST_MS = 25;

interface FollowOptions extends ReadModelStorage {
  readonly store: EventStore;
  readonly projections: readonly Projection[];
  readonly onEvent: OnFollowEvent;
  /** Called if the log lacks events that read models hold. They are given up only once this has settled. */
  readonly onLogCutShort?: () => Promise<unknown>;
  /** Event types of the projections whose appearance listeners want to hear of; none by default. */
  readonly watchedTypes?: readonly string[];
  /** Files that readers have found damaged. The follower empties it and stops the projections of those files. */
  readonly damagedFiles?: Set<string>;
  readonly retryMs?: number;
  /** Ends the follower: it commits what was applied, closes every file and fulfils its promise. */
  readonly signal: AbortSignal;
}

/**
 * Keeps the read models of a directory at the head of the log. One subscription feeds all that are live; those further
 * back (new, restored, built by another process) catch up separately and then join. Only for the process that owns the
 * directory. A projection that fails stops alone. Rejects for broken invariants, and when the catalog is damaged; the
 * next call then replaces it.
 */
export async function followReadModels(options: FollowOptions): Promise<void> {
  if (options.signal.aborted) return;
  const head = await options.store.head();
  const { catalog, renewed } = openOwnedCatalog(options.databases, options.directory);
  const follower = new Follower(options, catalog);
  try {
    const isCutShort = await isLogCutShort(options.store, options, catalog);
    // Nothing but these read models shows what is lost, so what has to be done about it comes first.
    if (isCutShort) await options.onLogCutShort?.();
    follower.open(head, { renewed, isCutShort });
    await follower.run();
  } finally {
    follower.close();
  }
}

/** What the follower finds before it opens any generation. */
interface FoundAtStart {
  /** Why the catalog was replaced; null if it was not. */
  readonly renewed: string | null;
  readonly isCutShort: boolean;
}

class Follower {
  private readonly stop = new AbortController();
  private readonly signal: AbortSignal;
  private readonly notifier: FollowNotifier;
  private live: SharedSubscription;
  /** Generations that catch up separately: current ones that lag, and ready ones that will become current. */
  private readonly behind: CatchUp;
  private announced: { position: Position; caughtUp: boolean } | undefined;
  /** When to try again the projections whose database failed. */
  private readonly retryAt = new Map<string, number>();
  private catchUpAt = 0;
  private mustLookForReady = true;
  /** Generations that every reader has closed. They are removed once no other process has them open. */
  private readonly released = new Set<GenerationEntry>();
  private removeBuildsAt = performance.now() + REMOVE_BUILDS_MS;

  constructor(
    private readonly options: FollowOptions,
    private readonly catalog: Catalog,
  ) {
    this.notifier = new FollowNotifier(options.onEvent);
    this.live = this.subscriptionAt(LOG_START);
    this.signal = AbortSignal.any([options.signal, this.stop.signal, this.notifier.failure]);
    this.behind = new CatchUp({
      store: options.store,
      headPosition: () => this.live.position,
      onProgress: (generation) => this.tellProgress(generation),
      onFailure: (generation) => this.giveUp(generation),
      signal: this.signal,
    });
  }

  /** Opens or creates the current generations, and removes what earlier runs left. */
  open(head: Position, { renewed, isCutShort }: FoundAtStart): void {
    if (renewed !== null) this.notifier.tell({ type: "renewed", reason: renewed });
    if (isCutShort) {
      giveUpGenerations(this.catalog, this.options.projections);
      this.notifier.tell({ type: "logCutShort" });
    }
    const opened: FollowedGeneration[] = [];
    for (const projection of this.options.projections) {
      const generation = this.tryOpenCurrent(projection, head);
      if (generation) opened.push(generation);
    }
    retireOutdated(this.catalog, this.options.projections);
    removeLeftBehind(this.options, this.catalog);
    const positions = opened.map(({ applier }) => applier.position).sort();
    this.live = this.subscriptionAt(positions.at(-1) ?? head);
    for (const generation of opened) {
      if (generation.applier.position === this.live.position) this.join(generation);
      else this.behind.add(generation);
    }
  }

  private subscriptionAt(position: Position): SharedSubscription {
    return new SharedSubscription(position, this.options.watchedTypes ?? []);
  }

  /** Runs until the signal aborts. If one loop fails, it stops the other. */
  async run(): Promise<void> {
    const stopAfter = (loop: Promise<void>) => loop.finally(() => this.stop.abort());
    const outcomes = await Promise.allSettled([stopAfter(this.followLog()), stopAfter(this.tick())]);
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
    this.notifier.failure.throwIfAborted();
  }

  close(): void {
    for (const { applier } of this.all()) {
      commit(applier);
      applier.db.close();
    }
    this.catalog.close();
  }

  private all(): readonly FollowedGeneration[] {
    return [...this.live.generations, ...this.behind.generations];
  }

  private async followLog(): Promise<void> {
    const types = [...new Set(this.options.projections.flatMap(({ events }) => events))];
    for await (const batch of this.options.store.subscribe(this.live.position, { types }, this.signal)) {
      await this.live.apply(batch);
      if (batch.caughtUp) {
        this.commitLive(true);
        if (batch.events.length >= BUSY_BATCH_EVENTS) await sleep(BUSY_REST_MS, this.signal);
      } else if (this.live.uncommittedEvents >= TRANSACTION_EVENTS_MAX) {
        this.commitLive(false);
        await nextTurn();
      }
    }
    if (!this.signal.aborted) throw new Error("the subscription to the log ended by itself");
  }

  /** Commits, then announces, so a reader that gets a position can read its rows. */
  private commitLive(caughtUp: boolean): void {
    for (const failed of this.live.commit()) this.giveUp(failed);
    const { position } = this.live;
    if (position === this.announced?.position && caughtUp === this.announced.caughtUp) return;
    this.announced = { position, caughtUp };
    this.notifier.tell({
      type: "progress",
      position,
      caughtUp,
      hasWatchedEvent: this.live.takeWatchedEvent(),
    });
  }

  private async tick(): Promise<void> {
    while (!this.signal.aborted) {
      this.stopDamaged();
      this.commitLive(this.live.uncommittedEvents === 0 && this.announced?.caughtUp === true);
      try {
        this.removeReleased();
        this.removeAbandonedBuilds();
        await this.openAndCatchUp();
      } catch (error) {
        // The subscription recovers from an unavailable store by itself; our own readings are retried later.
        if (!(error instanceof StoreError || isUnavailable(error))) throw error;
        this.catchUpAt = this.retryTime();
        this.mustLookForReady = true;
      }
      await sleep(TICK_MS, this.signal);
    }
  }

  /** Stops projections that readers have found damaged, as if an event had hit the damage. */
  private stopDamaged(): void {
    const { damagedFiles } = this.options;
    if (damagedFiles === undefined || damagedFiles.size === 0) return;
    for (const { entry, applier } of this.all()) {
      if (!damagedFiles.has(entry.file)) continue;
      stop(applier, {
        reason: `projection ${entry.name} was found damaged by its readers`,
        cause: "damaged",
      });
    }
    damagedFiles.clear();
  }

  /** Opens generations due for a retry and newly ready ones, and brings them to the live position. */
  private async openAndCatchUp(): Promise<void> {
    if (performance.now() < this.catchUpAt) return;
    if (this.catalog.hasChanged()) this.mustLookForReady = true;
    // A generation that is being brought up takes the place of the one that failed: its file must not be opened twice.
    const coming = new Set(this.behind.generations.map(({ entry }) => entry.name));
    const due = this.options.projections.filter(
      ({ name }) => (this.retryAt.get(name) ?? Infinity) <= performance.now() && !coming.has(name),
    );
    if (this.mustLookForReady || due.length > 0) {
      // Read before the head: a generation that becomes ready later may hold later events.
      const entries = this.catalog.generations();
      const head = await this.options.store.head();
      this.mustLookForReady = false;
      for (const projection of due) {
        const generation = this.tryOpenCurrent(projection, head);
        if (generation) this.behind.add(generation);
      }
      this.openReady(entries, head);
    }
    if (this.behind.generations.length > 0) await this.catchUp();
  }

  private tryOpenCurrent(projection: Projection, head: Position): FollowedGeneration | undefined {
    this.retryAt.delete(projection.name);
    try {
      const { generation, replaced } = openCurrent(this.options, this.catalog, projection, head);
      if (generation.entry.failure) this.catalog.setFailure(generation.entry, null);
      const followed = followedGeneration(projection, generation, true);
      this.tellOpened(followed, replaced);
      return followed;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      this.retryAt.set(projection.name, this.retryTime());
      const reason = `projection ${projection.name} could not be opened: ${(error as Error).message}`;
      this.notifier.tell({ type: "failed", name: projection.name, reason, retrying: true });
      return undefined;
    }
  }

  /**
   * Opens the ready generations among the entries, oldest first, so the newest becomes current last. `head` is the log's
   * head, read after the entries.
   */
  private openReady(entries: readonly GenerationEntry[], head: Position): void {
    const taken = new Set(this.all().map(({ entry }) => entry.number));
    for (const entry of entries.toReversed()) {
      const projection = this.options.projections.find(({ name }) => name === entry.name);
      const isOurs = entry.status === "ready" && entry.version === projection?.version;
      if (!isOurs || taken.has(entry.number)) continue;
      const generation = openGeneration(this.options, entry, projection, head);
      if (generation) this.behind.add(followedGeneration(projection, generation, false));
      else this.discard(entry, "it was not made from this log");
    }
  }

  /** Pauses the live generations during the last round, so that all meet at one position. */
  private async catchUp(): Promise<void> {
    await this.behind.approachHead();
    if (this.signal.aborted) return;
    await this.live.restDuring(async () => {
      await this.behind.round();
      if (!this.signal.aborted) this.joinAll();
    });
  }

  /** The last round began after the live position was reached, so those behind hold everything up to it. */
  private joinAll(): void {
    this.commitLive(this.announced?.caughtUp ?? false);
    // Current ones join first, so the generation that replaces one finds it among the live.
    const left = this.behind.takeAll().sort((a, b) => Number(b.isCurrent) - Number(a.isCurrent));
    try {
      for (let next = left.shift(); next; next = left.shift()) this.joinOne(next);
    } finally {
      // A locked catalog stops one of them. The others stay open, and join the next time.
      for (const generation of left) this.behind.add(generation);
    }
  }

  private joinOne(generation: FollowedGeneration): void {
    moveTo(generation.applier, this.live.position, 0);
    commit(generation.applier);
    if (generation.applier.failure) {
      this.giveUp(generation);
      return;
    }
    if (!generation.isCurrent) this.switchTo(generation);
    this.join(generation);
  }

  private switchTo(generation: FollowedGeneration): void {
    const { name } = generation.entry;
    let replaced: GenerationEntry | undefined;
    try {
      replaced = this.catalog.makeCurrent(generation.entry);
    } catch (error) {
      // The catalog still lists it as ready, so it will be opened again.
      generation.applier.db.close();
      throw error;
    }
    generation.isCurrent = true;
    this.retryAt.delete(name);
    const before = this.live.generations.find(({ entry }) => entry.name === name);
    if (before) {
      this.live.remove(before);
      before.applier.db.close();
    }
    this.tellOpened(generation, replaced);
  }

  private join(generation: FollowedGeneration): void {
    this.live.add(generation);
    const { entry, applier } = generation;
    this.notifier.tell({ type: "joined", name: entry.name, position: applier.checkpoint });
  }

  /** Tells readers to open this generation. The one it replaces is released once they have. */
  private tellOpened({ entry, applier }: FollowedGeneration, replaced: GenerationEntry | undefined): void {
    const opened = { name: entry.name, file: entry.file, position: applier.checkpoint };
    if (replaced === undefined) this.notifier.tell({ type: "opened", ...opened });
    else this.notifier.tell({ type: "switched", ...opened }, () => void this.released.add(replaced));
  }

  private tellProgress({ entry, applier, isCurrent }: FollowedGeneration): void {
    if (isCurrent) this.notifier.tell({ type: "behind", name: entry.name, position: applier.checkpoint });
  }

  /** Handles a failure: keeps a current generation for its readers, and discards one that was not current yet. */
  private giveUp({ entry, applier, isCurrent }: FollowedGeneration): void {
    const { reason, cause } = applier.failure ?? { reason: "unknown", cause: "projection" };
    applier.db.close();
    if (!isCurrent) {
      this.discard(entry, reason);
      return;
    }
    const retrying = cause !== "projection";
    if (retrying) this.retryAt.set(entry.name, this.retryTime());
    this.recordFailure(entry, reason, cause === "damaged");
    this.notifier.tell({ type: "failed", name: entry.name, reason, retrying });
  }

  /** Records the failure if it can. On a full disk it cannot, but the listener still hears of the failure. */
  private recordFailure(entry: GenerationEntry, reason: string, isDamaged: boolean): void {
    try {
      this.catalog.setFailure(entry, reason);
      // Without a current generation the next attempt uses a ready one, or an empty one.
      if (isDamaged) this.catalog.retire(entry);
    } catch (error) {
      if (!(error instanceof ReadDatabaseError)) throw error;
    }
  }

  private retryTime(): number {
    return performance.now() + (this.options.retryMs ?? RETRY_MS);
  }

  private discard(entry: GenerationEntry, reason: string): void {
    this.catalog.retire(entry);
    this.released.add(entry);
    this.notifier.tell({ type: "discarded", name: entry.name, file: entry.file, reason });
  }

  private removeReleased(): void {
    for (const entry of this.released) if (this.catalog.remove(entry)) this.released.delete(entry);
  }

  private removeAbandonedBuilds(): void {
    if (performance.now() < this.removeBuildsAt) return;
    this.removeBuildsAt = performance.now() + REMOVE_BUILDS_MS;
    removeAbandonedBuilds(this.options, this.catalog);
  }
}

/** Whether a retry may succeed. Damage can only be the catalog's, because every other damaged file is replaced. */
function isUnavailable(error: unknown): boolean {
  return error instanceof ReadDatabaseError && error.failure !== "damaged";
}
