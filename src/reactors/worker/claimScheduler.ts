import { LRUCache } from "lru-cache";
import type { EpochMs } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import { StoreError } from "../../ports/eventStore.ts";
import { type AbortableSleep, abortableSleep } from "./abortableSleep.ts";
import { OwnerTurns } from "./ownerTurns.ts";

/** Something that is due according to a read model. `revision` is the event that made it due. */
interface ClaimableItem {
  readonly id: string;
  readonly revision: number;
}

export interface WorkPermit {
  /** Gives it back. A second call does nothing. */
  release(): void;
}

/** Whether an item may be worked on: now, once its owner is released, or only after `forMs`. */
export type AdmissionDecision =
  | { readonly kind: "admitted" }
  | { readonly kind: "full" }
  | { readonly kind: "open"; readonly forMs: number };

/** What one look at the read model shows. */
export interface ReadyItems<Item> {
  readonly items: readonly Item[];
  /** Whether more is due: visible once these are done, or in the next look, which continues where this one ended. */
  readonly more: "none" | "afterThese" | "next";
}

interface ClaimSchedulerOptions<Item extends ClaimableItem, Permit extends WorkPermit> {
  readonly clock: Clock;
  /** Whether other instances may pick from the same items. */
  readonly isLogShared: boolean;
  /** In [0, 1). */
  readonly random: () => number;
  readonly inFlightMax: number;
  /** Aborts when no more work may begin. */
  readonly stopping: AbortSignal;
  /** What is due, the longest due first, without the given items and the items of the given owners. */
  readonly ready: (now: EpochMs, without: ReadonlySet<string>, limit: number) => ReadyItems<Item>;
  /** When the next item that is not yet due at `now` becomes due; null when none waits. */
  readonly nextReadyAt: (now: EpochMs) => EpochMs | null;
  /** Null when nothing can be worked on now. */
  readonly acquire: () => Permit | null;
  /** The owners of an item, the widest first. They take turns; while one of them cools down, its items are left alone. */
  readonly ownersOf: (item: Item) => readonly string[];
  /** Whether an owner's items may be worked on, where each item has one owner with limits of its own. */
  readonly admits?: (owner: string) => AdmissionDecision;
  /**
   * Does the work and returns the newest revision it acted on: its claim, not the outcome, which may make the item
   * due again. Null when it did not act.
   */
  readonly handle: (item: Item, permit: Permit) => Promise<number | null>;
  /** `id` is the item that failed; empty when no item was at fault. */
  readonly onTrouble: (error: unknown, id: string) => void;
}

/** Due items read in one look. */
const CANDIDATES_MAX = 512;
/** The longest sleep. Also how long candidates in hand delay the look that news asks for. */
const POLL_INTERVAL_MS = 250;
/** The pause between a look that showed nothing new and the next, which continues where it ended. */
const NEXT_LOOK_MS = 15;
/** How long to begin nothing after a fault, or to hold a slot after the store failed an item. */
const FAULT_BACKOFF_MS = 250;
/** How long to leave an item alone after it failed and the store was not at fault; doubles each time. */
const ITEM_BACKOFF_MS_FIRST = 500;
const ITEM_BACKOFF_MS_MAX = 60_000;
/** How many items can be left alone at once, and how many items' faults are counted. */
const FAULTY_MAX = 10_000;
const LAST_REVISIONS_MAX = 50_000;
/** Blocked items of one owner to release when one of its items ends. Each of them releases as many again when it ends. */
const RELEASED_MAX = 8;

/**
 * Works on what a read model shows as due, many items at once. The read model only says where to look: an item may
 * already be done, or claimed by somebody else. `handle` claims it, and the claim decides.
 */
export class ClaimScheduler<Item extends ClaimableItem, Permit extends WorkPermit> {
  private readonly inFlight = new Set<string>();
  /** Items in flight that the read model has since shown as due again, at a newer revision. */
  private readonly requeued = new Set<string>();
  /** The newest revision acted on, by item. The read model may still show an older one. */
  private readonly lastRevisions = new LRUCache<string, number>({ max: LAST_REVISIONS_MAX });
  /** Until when to leave items, or owners with all their items, alone. */
  private readonly coolingDown = new Map<string, number>();
  /** How many times in a row an item has failed. */
  private readonly faults = new LRUCache<string, number>({ max: FAULTY_MAX });
  /** Items waiting for their owner to be released, by owner. Looks leave out the owner's other items. */
  private readonly blocked = new Map<string, Item[]>();
  private readonly working = new Set<Promise<void>>();
  private readonly sleep: AbortableSleep;
  private readonly turns: OwnerTurns<Item>;
  /** The next one last. */
  private candidates: Item[] = [];
  /** What is due although the read model, which goes by times, does not show it: see {@link offer}. */
  private offered: readonly Item[] = [];
  private isStale = true;
  /** The last look showed nothing new but did not reach the end; the next continues there. */
  private isLookUnfinished = false;
  /** By the monotonic clock. */
  private refilledAt = 0;
  /** When the next item not yet due at the last look becomes due. */
  private nextDueAt = 0;
  /** When the next cool-down ends, by the monotonic clock. */
  private nextCooledAt = Number.POSITIVE_INFINITY;

  constructor(private readonly options: ClaimSchedulerOptions<Item, Permit>) {
    this.sleep = abortableSleep(options.stopping);
    this.turns = new OwnerTurns(options.ownersOf);
  }

  /** Works until stopped, then waits for what is in flight. */
  async run(): Promise<void> {
    while (!this.options.stopping.aborted) await this.step();
    await Promise.all(this.working);
  }

  /** Begins an item, or rests. After a fault it rests and tries again: nothing else would trigger a retry. */
  private async step(): Promise<void> {
    try {
      if (!this.begin()) await this.untilWork();
    } catch (error) {
      this.options.onTrouble(error, "");
      await this.sleep.sleep(FAULT_BACKOFF_MS);
    }
  }

  /** The read model has moved. */
  wake(): void {
    this.isStale = true;
    this.sleep.wakeAll();
  }

  /** Treats these as due from now on, replacing those offered before: a clock misdated them. */
  offer(items: readonly Item[]): void {
    this.offered = items;
    // Nothing else would wake us for them, because the read model has not moved.
    if (items.length > 0) this.wake();
  }

  /** `acquire` may give a permit again. */
  wakeWaiting(): void {
    this.sleep.wakeAll();
  }

  /** Leaves an item, or all items of an owner, alone for a while. */
  coolDown(itemOrOwner: string, timeMs: number): void {
    const until = this.options.clock.monotonicMs() + timeMs;
    this.coolingDown.set(itemOrOwner, until);
    this.nextCooledAt = Math.min(this.nextCooledAt, until);
  }

  /** Admits this owner's items again, behind those that are already waiting. */
  release(owner: string): void {
    const items = this.blocked.get(owner);
    if (!items) return;
    this.candidates.unshift(...items.splice(-RELEASED_MAX));
    if (items.length === 0) {
      this.blocked.delete(owner);
      this.isStale = true;
    }
    this.sleep.wakeAll();
  }

  /** How many items are in flight. */
  get inFlightCount(): number {
    return this.inFlight.size;
  }

  isInFlight(id: string): boolean {
    return this.inFlight.has(id);
  }

  /** Begins one item; false when too many are in flight, there is no permit, or nothing is due. */
  private begin(): boolean {
    if (this.inFlight.size >= this.options.inFlightMax) return false;
    const permit = this.options.acquire();
    if (permit === null) return false;
    let item: Item | null = null;
    try {
      item = this.take();
    } finally {
      if (item === null) permit.release();
    }
    if (item === null) return false;
    this.inFlight.add(item.id);
    const work = this.workOn(item, permit).finally(() => {
      this.working.delete(work);
      this.sleep.wakeAll();
    });
    this.working.add(work);
    return true;
  }

  private async workOn(item: Item, permit: Permit): Promise<void> {
    try {
      const revision = await this.options.handle(item, permit);
      if (revision !== null) this.lastRevisions.set(item.id, revision);
      this.faults.delete(item.id);
    } catch (error) {
      permit.release();
      this.options.onTrouble(error, item.id);
      const isBackedOff = !(error instanceof StoreError) && this.backOff(item);
      if (!isBackedOff) await this.sleep.sleep(FAULT_BACKOFF_MS);
    } finally {
      permit.release();
      this.inFlight.delete(item.id);
      // Still due and unclaimed, or due again before we finished: the read model will bring no news of it.
      if (this.requeued.delete(item.id) || !this.isActedOn(item)) this.isStale = true;
    }
  }

  /**
   * Backs off, longer each time, from an item that cannot be worked on, because its stream is unreadable, say. False
   * when too many items are already left alone.
   */
  private backOff({ id }: Item): boolean {
    if (this.coolingDown.size >= FAULTY_MAX) return false;
    const faults = this.faults.get(id) ?? 0;
    this.faults.set(id, faults + 1);
    this.coolDown(id, Math.min(ITEM_BACKOFF_MS_MAX, ITEM_BACKOFF_MS_FIRST * 2 ** faults));
    return true;
  }

  private isActedOn({ id, revision }: Item): boolean {
    return (this.lastRevisions.get(id) ?? -1) >= revision;
  }

  /** A due item that nobody here works on; null when the read model shows none. */
  private take(): Item | null {
    if (this.isStale && (this.candidates.length === 0 || this.isLookDue())) this.refill();
    for (;;) {
      const item = this.candidates.pop();
      if (item === undefined) return null;
      if (this.isActedOn(item) || this.isCoolingDown(item)) continue;
      if (this.inFlight.has(item.id)) this.requeued.add(item.id);
      else if (this.admits(item)) {
        this.turns.record(item);
        return item;
      }
    }
  }

  private isCoolingDown(item: Item): boolean {
    if (this.coolingDown.size === 0) return false;
    return (
      this.coolingDown.has(item.id) ||
      this.options.ownersOf(item).some((owner) => this.coolingDown.has(owner))
    );
  }

  private admits(item: Item): boolean {
    const { admits, ownersOf } = this.options;
    const [owner] = ownersOf(item);
    if (!admits || owner === undefined) return true;
    const decision = admits(owner);
    if (decision.kind === "open") {
      this.coolDown(owner, decision.forMs);
      this.blocked.delete(owner);
    } else if (decision.kind === "full") {
      this.blocked.getOrInsertComputed(owner, () => []).push(item);
    }
    return decision.kind === "admitted";
  }

  private isLookDue(): boolean {
    return this.options.clock.monotonicMs() - this.refilledAt >= POLL_INTERVAL_MS;
  }

  private refill(): void {
    const { clock, ready, nextReadyAt, admits, ownersOf } = this.options;
    // The remaining candidates are still due and are read again; so are their owners' blocked items.
    if (admits) for (const owner of this.candidates.flatMap(ownersOf)) this.blocked.delete(owner);
    const now = clock.now();
    this.endCoolDowns();
    const without = new Set([...this.coolingDown.keys(), ...this.blocked.keys()]);
    const { items: shown, more } = ready(now, without, CANDIDATES_MAX);
    const offered = this.offered.filter(
      (item) => ![item.id, ...ownersOf(item)].some((id) => without.has(id)),
    );
    const items = [...shown, ...offered];
    this.nextDueAt = nextReadyAt(now) ?? Number.POSITIVE_INFINITY;
    // If we already work on the whole page, there is nothing more to see until the read model moves.
    const hasNews = items.some((item) => !this.inFlight.has(item.id) && !this.isActedOn(item));
    this.isStale = more !== "none" && (hasNews || more === "next");
    this.isLookUnfinished = more === "next" && !hasNews;
    this.refilledAt = clock.monotonicMs();
    this.candidates = this.turns.inTurns(this.mixed(items)).reverse();
  }

  /** In another order on each instance, so that they seldom collide. An instance that is alone keeps the order. */
  private mixed(items: readonly Item[]): readonly Item[] {
    return this.options.isLogShared ? shuffled(items, this.options.random) : items;
  }

  /** Removes cool-downs that are over. */
  private endCoolDowns(): void {
    const now = this.options.clock.monotonicMs();
    this.nextCooledAt = Number.POSITIVE_INFINITY;
    for (const [itemOrOwner, until] of this.coolingDown) {
      if (until <= now) this.coolingDown.delete(itemOrOwner);
      else this.nextCooledAt = Math.min(this.nextCooledAt, until);
    }
  }

  /** Sleeps until there is work or a permit for it, until something becomes due, or until the next look. */
  private async untilWork(): Promise<void> {
    const { clock } = this.options;
    if (this.isLookUnfinished) {
      this.isLookUnfinished = false;
      return this.sleep.sleep(NEXT_LOOK_MS);
    }
    const dueInMs = Math.max(1, this.nextDueAt - clock.now());
    await this.sleep.sleep(Math.min(dueInMs, POLL_INTERVAL_MS), { wakeable: true });
    if (this.nextDueAt <= clock.now() || this.nextCooledAt <= clock.monotonicMs()) this.isStale = true;
  }
}

/** A Fisher–Yates shuffle. */
function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const result = [...items];
  for (let index = result.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    [result[index], result[other]] = [result[other] as Item, result[index] as Item];
  }
  return result;
}
