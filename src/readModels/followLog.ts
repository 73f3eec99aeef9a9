import type { Projection } from "../../projections/projection.ts";
import { HOUR_MS } from "../kernel/time.ts";
import { type EventStore, LOG_START, type Position, StoreError } from "../ports/eventStore.ts";
import { ReadDatabaseError } from "../ports/readDatabase.ts";
import {
  type Applier,
  commit,
  commitDue,
  type Feed,
  feedToHead,
  makeApplier,
  makeFeed,
  moveTo,
  stop,
  TRANSACTION_EVENTS_MAX,
  yieldToTimers,
} from "./applyEvents.ts";
import { type Catalog, type GenerationEntry, openOwnedCatalog } from "./generationCatalog.ts";
import {
  clearAway,
  clearBuilds,
  type OpenGeneration,
  openCurrent,
  openGeneration,
  type ReadModelStorage,
  retireOutdated,
} from "./generations.ts";
import type { FollowEvent, OnFollowEvent } from "./threadMessages.ts";

/** How often the follower looks for interrupted builds that were kept long enough. */
const CLEAR_BUILDS_MS = HOUR_MS;
/** How often the follower looks for generations that others have built, and commits what lies about. */
const TICK_MS = 200;
/** How long a projection whose database failed, or a reading that the store refused, rests by default. */
const RETRY_MS = 2_000;
/**
 * While events come so many at a time, what comes in this time is applied together: a transaction costs as much as
 * several rows, and a page that is written once needs no second copy in the write-ahead log. An event that comes alone
 * is applied at once.
 */
const BUSY_BATCH_EVENTS = 8;
const BUSY_REST_MS = 25;
/** A round of catching up that is not at least this much shorter than the one before won't be outrun. */
const CATCH_UP_SHRINKING = 0.8;

export interface FollowOptions extends ReadModelStorage {
  readonly store: EventStore;
  readonly projections: readonly Projection[];
  readonly onEvent: OnFollowEvent;
  /** Files that readers have found damaged; each is taken out when it is given up. */
  readonly damagedFiles?: Set<string>;
  readonly retryMs?: number;
  /** Ends the following: what was applied is committed, every file is closed, the promise is fulfilled. */
  readonly signal: AbortSignal;
}

/** A generation that the follower brings forward. */
interface Member {
  readonly entry: GenerationEntry;
  readonly applier: Applier;
  /** Readers have this one open; the others are yet to be switched to. */
  isCurrent: boolean;
}

/**
 * Keeps the read models of a directory at the head of the log. One reader of the log feeds all that are there;
 * those further back (new, restored, built by another process) are brought up aside and then join. Only for
 * the process that owns the directory. A projection that fails stops alone. Rejects for broken invariants, and for a
 * catalog that is damaged: the next call makes it anew.
 */
export async function followReadModels(options: FollowOptions): Promise<void> {
  if (options.signal.aborted) return;
  const head = await options.store.head();
  const { catalog, renewed } = openOwnedCatalog(options.databases, options.directory);
  const follower = new Follower(options, catalog);
  try {
    follower.open(head, renewed);
    await follower.run();
  } finally {
    follower.close();
  }
}

class Follower {
  readonly #options: FollowOptions;
  readonly #catalog: Catalog;
  readonly #stop = new AbortController();
  readonly #signal: AbortSignal;
  /** At the live position together, fed by the one subscription. */
  #live: Member[] = [];
  #feed: Feed = () => {};
  /** Brought up aside: current ones that lag, and ready ones that are to become current. */
  #behind: Member[] = [];
  /** When to try again the projections whose database failed. */
  readonly #retryAt = new Map<string, number>();
  /** Closed by every reader; removed as soon as no other process has them open. */
  readonly #released = new Set<GenerationEntry>();
  /** All live members have been fed up to here. */
  #position: Position = LOG_START;
  #announced: { position: Position; caughtUp: boolean } | undefined;
  #uncommittedEvents = 0;
  #liveAtRest: Promise<void> | undefined;
  #catchUpAt = 0;
  #clearBuildsAt = Date.now() + CLEAR_BUILDS_MS;
  #mustLookForReady = true;
  #listenerError: Error | undefined;

  constructor(options: FollowOptions, catalog: Catalog) {
    this.#options = options;
    this.#catalog = catalog;
    this.#signal = AbortSignal.any([options.signal, this.#stop.signal]);
  }

  /** Opens or makes the current generations and clears away what earlier runs left. */
  open(head: Position, renewed: string | null): void {
    if (renewed !== null) this.#notify({ type: "renewed", reason: renewed });
    const opened: Member[] = [];
    for (const projection of this.#options.projections) {
      const member = this.#tryOpenCurrent(projection, head);
      if (member) opened.push(member);
    }
    retireOutdated(this.#catalog, this.#options.projections);
    clearAway(this.#options, this.#catalog);
    const positions = opened.map(({ applier }) => applier.position).sort();
    this.#position = positions.at(-1) ?? head;
    for (const member of opened) {
      if (member.applier.position === this.#position) this.#join(member);
      else this.#behind.push(member);
    }
  }

  /** Follows until the signal; a loop that breaks stops the other. */
  async run(): Promise<void> {
    const stopAfter = (loop: Promise<void>) => loop.finally(() => this.#stop.abort());
    const outcomes = await Promise.allSettled([stopAfter(this.#followLog()), stopAfter(this.#tickOn())]);
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
    if (this.#listenerError) throw this.#listenerError;
  }

  close(): void {
    for (const { applier } of [...this.#live, ...this.#behind]) {
      commit(applier);
      applier.db.close();
    }
    this.#catalog.close();
  }

  async #followLog(): Promise<void> {
    const types = [...new Set(this.#options.projections.flatMap(({ events }) => events))];
    for await (const batch of this.#options.store.subscribe(this.#position, { types }, this.#signal)) {
      while (this.#liveAtRest) await this.#liveAtRest;
      this.#feed(batch);
      this.#position = batch.position;
      this.#uncommittedEvents += batch.events.length;
      if (batch.caughtUp) {
        this.#commitLive(true);
        if (batch.events.length >= BUSY_BATCH_EVENTS) await waitMs(BUSY_REST_MS, this.#signal);
      } else if (this.#uncommittedEvents >= TRANSACTION_EVENTS_MAX) {
        this.#commitLive(false);
        await yieldToTimers();
      }
    }
    if (!this.#signal.aborted) throw new Error("the subscription to the log ended by itself");
  }

  /** Commits, then announces: whoever hears of a position can read its rows. */
  #commitLive(caughtUp: boolean): void {
    this.#uncommittedEvents = 0;
    for (const { applier } of this.#live) commitDue(applier);
    const failed = this.#live.filter(({ applier }) => applier.failure);
    if (failed.length > 0) {
      this.#setLive(this.#live.filter(({ applier }) => !applier.failure));
      for (const member of failed) this.#giveUp(member);
    }
    const position = this.#position;
    if (position === this.#announced?.position && caughtUp === this.#announced.caughtUp) return;
    this.#announced = { position, caughtUp };
    this.#notify({ type: "progress", position, caughtUp });
  }

  #setLive(members: Member[]): void {
    this.#live = members;
    this.#feed = makeFeed(members.map(({ applier }) => applier));
  }

  async #tickOn(): Promise<void> {
    while (!this.#signal.aborted) {
      this.#stopDamaged();
      this.#commitLive(this.#uncommittedEvents === 0 && this.#announced?.caughtUp === true);
      try {
        this.#removeReleased();
        this.#clearBuilds();
        await this.#bringIn();
      } catch (error) {
        // The subscription gets over a store's absence by itself; our own readings wait for another time.
        if (!(error instanceof StoreError || isUnavailable(error))) throw error;
        this.#catchUpAt = this.#retryTime();
        this.#mustLookForReady = true;
      }
      await waitMs(TICK_MS, this.#signal);
    }
  }

  /** Stops what its readers have found damaged, as an event does that meets the damage. */
  #stopDamaged(): void {
    const { damagedFiles } = this.#options;
    if (damagedFiles === undefined || damagedFiles.size === 0) return;
    for (const { entry, applier } of [...this.#live, ...this.#behind]) {
      if (!damagedFiles.has(entry.file)) continue;
      stop(applier, {
        reason: `projection ${entry.name} was found damaged by its readers`,
        cause: "damaged",
      });
    }
    damagedFiles.clear();
  }

  async #bringIn(): Promise<void> {
    if (Date.now() < this.#catchUpAt) return;
    if (this.#catalog.hasChanged()) this.#mustLookForReady = true;
    const due = this.#options.projections.filter(
      ({ name }) => (this.#retryAt.get(name) ?? Infinity) <= Date.now(),
    );
    if (this.#mustLookForReady || due.length > 0) {
      const head = await this.#options.store.head();
      this.#mustLookForReady = false;
      for (const projection of due) {
        const member = this.#tryOpenCurrent(projection, head);
        if (member) this.#behind.push(member);
      }
      this.#takeInReady(head);
    }
    if (this.#behind.length > 0) await this.#catchUp();
  }

  #tryOpenCurrent(projection: Projection, head: Position): Member | undefined {
    this.#retryAt.delete(projection.name);
    try {
      const { generation, replaced } = openCurrent(this.#options, this.#catalog, projection, head);
      if (generation.entry.failure) this.#catalog.setFailure(generation.entry, null);
      const member = memberOf(projection, generation, true);
      if (replaced) this.#announceSwitch(member, replaced);
      else this.#notify({ type: "opened", ...fileAt(member) });
      return member;
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      this.#retryAt.set(projection.name, this.#retryTime());
      const reason = `projection ${projection.name} could not be opened: ${(error as Error).message}`;
      this.#notify({ type: "failed", name: projection.name, reason, retrying: true });
      return undefined;
    }
  }

  /** Opens the ready generations, the oldest first, so that the newest has the last word. */
  #takeInReady(head: Position): void {
    const taken = new Set([...this.#live, ...this.#behind].map(({ entry }) => entry.number));
    for (const entry of [...this.#catalog.generations()].reverse()) {
      const projection = this.#options.projections.find(({ name }) => name === entry.name);
      const isOurs = entry.status === "ready" && entry.version === projection?.version;
      if (!isOurs || taken.has(entry.number)) continue;
      const generation = openGeneration(this.#options, entry, projection, head);
      if (generation) this.#behind.push(memberOf(projection, generation, false));
      else this.#discard(entry, "it was not made from this log");
    }
  }

  /**
   * Brings those behind to the live position in rounds, each shorter than the one before, while the live ones go
   * on. For the last and short round the live feed rests, so that all meet at one position; it is not so short
   * where events come faster than they can be applied twice.
   */
  async #catchUp(): Promise<void> {
    let events = Infinity;
    for (let before = Infinity; events >= TRANSACTION_EVENTS_MAX; before = events) {
      events = await this.#catchUpRound();
      if (this.#signal.aborted || events > before * CATCH_UP_SHRINKING) break;
    }
    if (this.#signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#liveAtRest = promise;
    try {
      await this.#catchUpRound();
      if (!this.#signal.aborted) this.#joinAll();
    } finally {
      this.#liveAtRest = undefined;
      resolve();
    }
  }

  /** Reads until all have come past the live position; the number of events. Those that fail are given up. */
  async #catchUpRound(): Promise<number> {
    let total = 0;
    const appliers = this.#behind.map(({ applier }) => applier);
    for await (const events of feedToHead(this.#options.store, appliers)) {
      total += events;
      for (const member of this.#behind) {
        const { entry, applier, isCurrent } = member;
        if (!isCurrent || applier.failure) continue;
        this.#notify({ type: "behind", name: entry.name, position: applier.checkpoint });
      }
      if (this.#signal.aborted || appliers.every((applier) => this.#isCaughtUp(applier))) break;
    }
    const failed = this.#behind.filter(({ applier }) => applier.failure);
    this.#behind = this.#behind.filter(({ applier }) => !applier.failure);
    for (const member of failed) this.#giveUp(member);
    return total;
  }

  #isCaughtUp({ failure, position }: Applier): boolean {
    return failure !== undefined || position >= this.#position;
  }

  /** The last readings began after the live position was reached, so those behind hold all up to it. */
  #joinAll(): void {
    this.#commitLive(this.#announced?.caughtUp ?? false);
    const members = this.#behind;
    this.#behind = [];
    // First those that are current, so that one that is to replace them finds them among the live.
    for (const member of members.sort((a, b) => Number(b.isCurrent) - Number(a.isCurrent))) {
      moveTo(member.applier, this.#position, 0);
      commit(member.applier);
      if (member.applier.failure) this.#giveUp(member);
      else {
        if (!member.isCurrent) this.#switchTo(member);
        this.#join(member);
      }
    }
  }

  #switchTo(member: Member): void {
    const { name } = member.entry;
    let replaced: GenerationEntry | undefined;
    try {
      replaced = this.#catalog.makeCurrent(member.entry);
    } catch (error) {
      // It is still in the catalog as ready, and will be taken in again.
      member.applier.db.close();
      throw error;
    }
    member.isCurrent = true;
    this.#retryAt.delete(name);
    const before = this.#live.find(({ entry }) => entry.name === name);
    if (before) {
      this.#setLive(this.#live.filter((other) => other !== before));
      before.applier.db.close();
    }
    if (replaced) this.#announceSwitch(member, replaced);
    else this.#notify({ type: "opened", ...fileAt(member) });
  }

  #join(member: Member): void {
    this.#setLive([...this.#live, member]);
    this.#notify({ type: "joined", name: member.entry.name, position: member.applier.checkpoint });
  }

  #announceSwitch(member: Member, replaced: GenerationEntry): void {
    this.#listenerSettles({ type: "switched", ...fileAt(member) }).then(
      () => this.#released.add(replaced),
      (error: unknown) => this.#breakOff(error),
    );
  }

  async #listenerSettles(event: FollowEvent): Promise<void> {
    await this.#options.onEvent(event);
  }

  #notify(event: FollowEvent): void {
    this.#listenerSettles(event).catch((error: unknown) => this.#breakOff(error));
  }

  /** A listener that throws is our caller's fault, which must not go unheard. */
  #breakOff(error: unknown): void {
    this.#listenerError = new Error("the listener to the follower's events failed", { cause: error });
    this.#stop.abort();
  }

  /** After a failure: a current generation stays for its readers, one that was to become current goes. */
  #giveUp({ entry, applier, isCurrent }: Member): void {
    const { reason, cause } = applier.failure ?? { reason: "unknown", cause: "projection" };
    applier.db.close();
    if (!isCurrent) {
      this.#discard(entry, reason);
      return;
    }
    const retrying = cause !== "projection";
    if (retrying) this.#retryAt.set(entry.name, this.#retryTime());
    this.#noteFailure(entry, reason, cause === "damaged");
    this.#notify({ type: "failed", name: entry.name, reason, retrying });
  }

  #retryTime(): number {
    return Date.now() + (this.#options.retryMs ?? RETRY_MS);
  }

  /** A full disk stops the catalog too; the listener learns of the projection's failure in any case. */
  #noteFailure(entry: GenerationEntry, reason: string, isDamaged: boolean): void {
    try {
      this.#catalog.setFailure(entry, reason);
      // Without a current generation the next attempt begins with an empty one.
      if (isDamaged) this.#catalog.retire(entry);
    } catch (error) {
      if (!(error instanceof ReadDatabaseError)) throw error;
    }
  }

  #discard(entry: GenerationEntry, reason: string): void {
    this.#catalog.retire(entry);
    this.#released.add(entry);
    this.#notify({ type: "discarded", name: entry.name, file: entry.file, reason });
  }

  #clearBuilds(): void {
    if (Date.now() < this.#clearBuildsAt) return;
    this.#clearBuildsAt = Date.now() + CLEAR_BUILDS_MS;
    clearBuilds(this.#options, this.#catalog);
  }

  #removeReleased(): void {
    for (const entry of this.#released) if (this.#catalog.remove(entry)) this.#released.delete(entry);
  }
}

/** Whether another time may go well: every file but the catalog is replaced when it is damaged. */
function isUnavailable(error: unknown): boolean {
  return error instanceof ReadDatabaseError && error.failure !== "damaged";
}

function memberOf(projection: Projection, generation: OpenGeneration, isCurrent: boolean): Member {
  const { entry, db, checkpoint } = generation;
  return { entry, applier: makeApplier(projection, db, checkpoint), isCurrent };
}

function fileAt({ entry, applier }: Member): { name: string; file: string; position: Position } {
  return { name: entry.name, file: entry.file, position: applier.checkpoint };
}

/** Waits that long, or until the signal. */
function waitMs(durationMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, durationMs);
    if (signal.aborted) done();
    else signal.addEventListener("abort", done);
  });
}
