import { LRUCache } from "lru-cache";
import type { EpochMs } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import { StoreError } from "../../ports/eventStore.ts";
import { type AbortableSleep, abortableSleep } from "./abortableSleep.ts";

/** Something that is due, as a read model shows it. `revision` is the event that made it so. */
export interface ClaimableItem {
  readonly id: string;
  readonly revision: number;
}

/** Permission to work on one item, to be given back. */
export interface WorkPermit {
  /** Gives it back. A second call does nothing. */
  release(): void;
}

/** Whether an item may be worked on: now, when its owner is released, or not before a time has passed. */
export type AdmissionDecision =
  | { readonly kind: "admitted" }
  | { readonly kind: "full" }
  | { readonly kind: "open"; readonly forMs: number };

/** Bounds of those that items belong to. */
export interface AdmissionControl<Item> {
  readonly ownerOf: (item: Item) => string;
  readonly admits: (item: Item) => AdmissionDecision;
}

/** What a look at the read model shows. */
export interface ReadyItems<Item> {
  readonly items: readonly Item[];
  /** Whether more is due: shown once these are done, or shown by the next look, which goes on where this one ended. */
  readonly more: "none" | "afterThese" | "next";
}

export interface ClaimSchedulerOptions<Item extends ClaimableItem, Permit extends WorkPermit> {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly inFlightMax: number;
  /** Aborts when nothing more is to be begun. */
  readonly stopping: AbortSignal;
  /** What is due, less the given items and what belongs to the given owners. */
  readonly ready: (now: EpochMs, without: ReadonlySet<string>, limit: number) => ReadyItems<Item>;
  /** When the next item becomes due that is not so at `now`; null when none waits. */
  readonly nextReadyAt: (now: EpochMs) => EpochMs | null;
  /** Null: nothing can be worked on now. */
  readonly acquire: () => Permit | null;
  /** Those whose items are left alone while they cool down. */
  readonly ownersOf: (item: Item) => readonly string[];
  /** Where owners have bounds of their own. */
  readonly admission?: AdmissionControl<Item>;
  /**
   * Does the work and answers the newest revision that it acted on: its claim, not the outcome, which may make the
   * item due again. Null when it did not act.
   */
  readonly handle: (item: Item, permit: Permit) => Promise<number | null>;
  /** `id`: the item that met a fault; empty where it was none's. */
  readonly onTrouble: (error: unknown, id: string) => void;
}

/** Due items that are looked at in one go, and picked from at random, so that instances seldom collide. */
const CANDIDATES_MAX = 512;
/** A look is taken at least this often; when there is news, also while there is enough at hand. */
const POLL_INTERVAL_MS = 250;
/** Between two looks of which the first showed nothing new, and the second goes on where it ended. */
const NEXT_LOOK_MS = 15;
/** How long nothing more is begun after a fault, or instead of an item that met one of the store. */
const FAULT_BACKOFF_MS = 250;
/** How long an item is left alone whose work failed, when the store was not at fault: twice as long every time. */
const ITEM_BACKOFF_MS_FIRST = 500;
const ITEM_BACKOFF_MS_MAX = 60_000;
/** Items that are left alone at once, and whose faults are counted. */
const FAULTY_MAX = 10_000;
const LAST_REVISIONS_MAX = 50_000;
/** Blocked items of one owner that are released at once: about as many as an owner may ever have in flight. */
const RELEASED_MAX = 8;

/**
 * Works on what a read model shows as due, many at once. The read model says where to look, and may show what
 * was done already or what somebody else is at: `handle` claims, and the claim decides.
 */
export class ClaimScheduler<Item extends ClaimableItem, Permit extends WorkPermit> {
  private readonly inFlight = new Set<string>();
  /** Items in flight that the read model showed as due meanwhile, at a revision that is news. */
  private readonly requeued = new Set<string>();
  /** The newest revision that was acted on, by item: the read model may still show an older one. */
  private readonly lastRevisions = new LRUCache<string, number>({ max: LAST_REVISIONS_MAX });
  /** Until when owners, with all their items, and single items are left alone. */
  private readonly coolingDown = new Map<string, number>();
  /** How often in a row the work on an item has failed. */
  private readonly faults = new LRUCache<string, number>({ max: FAULTY_MAX });
  /** Items that wait for their owner to be released, by owner; the others that it has are not asked for. */
  private readonly blocked = new Map<string, Item[]>();
  private readonly working = new Set<Promise<void>>();
  private readonly sleep: AbortableSleep;
  private candidates: Item[] = [];
  /** What is due though the read model, which goes by times, does not show it: see {@link offer}. */
  private offered: readonly Item[] = [];
  private isStale = true;
  /** The last look showed nothing new and was not the end: the next goes on from there. */
  private isLookUnfinished = false;
  /** By the monotonic clock. */
  private refilledAt = 0;
  /** When the next item becomes due that was not so at the last look. */
  private nextDueAt = 0;
  /** When the next item or owner need no longer be left alone, by the monotonic clock. */
  private nextCooledAt = Number.POSITIVE_INFINITY;

  constructor(private readonly options: ClaimSchedulerOptions<Item, Permit>) {
    this.sleep = abortableSleep(options.stopping);
  }

  /** Works until it is stopped, then waits for what is in flight. */
  async run(): Promise<void> {
    while (!this.options.stopping.aborted) await this.step();
    await Promise.all(this.working);
  }

  /** Begins with something or rests. What failed may be well at the next try, and nothing else would make one. */
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

  /** Takes these for due from here on, in place of those before: a clock has misdated them. */
  offer(items: readonly Item[]): void {
    this.offered = items;
    // Nothing else would wake us for them: the read model has not moved.
    if (items.length > 0) this.wake();
  }

  /** There may be a permit again where `acquire` gave none. */
  wakeWaiting(): void {
    this.sleep.wakeAll();
  }

  /** Leaves an item alone for a while, or everything of an owner. */
  coolDown(itemOrOwner: string, timeMs: number): void {
    const until = this.options.clock.monotonicMs() + timeMs;
    this.coolingDown.set(itemOrOwner, until);
    this.nextCooledAt = Math.min(this.nextCooledAt, until);
  }

  /** This owner's items are admitted again: they come after those that wait already. */
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

  /** How many items are worked on now. */
  get inFlightCount(): number {
    return this.inFlight.size;
  }

  isInFlight(id: string): boolean {
    return this.inFlight.has(id);
  }

  /** Begins with one item; false when too many are in flight, there is no permit, or nothing is due. */
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
      // Still due and nobody's, or due again before we were done: no news of the read model would make us look.
      if (this.requeued.delete(item.id) || !this.isActedOn(item)) this.isStale = true;
    }
  }

  /**
   * Leaves alone what cannot be worked on, because its stream cannot be read, say: for longer and longer. False when
   * too many are left alone already.
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

  /** A due item that nobody here is at; null when the read model shows none. */
  private take(): Item | null {
    if (this.isStale && (this.candidates.length === 0 || this.isLookDue())) this.refill();
    for (;;) {
      const item = this.candidates.pop();
      if (item === undefined) return null;
      if (this.isActedOn(item) || this.isCoolingDown(item)) continue;
      if (this.inFlight.has(item.id)) this.requeued.add(item.id);
      else if (this.admits(item)) return item;
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
    const { admission } = this.options;
    if (!admission) return true;
    const owner = admission.ownerOf(item);
    const decision = admission.admits(item);
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
    const { clock, ready, nextReadyAt, random, admission, ownersOf } = this.options;
    // What is at hand is still due, and is read again; so is what else their owners have blocked.
    if (admission) for (const item of this.candidates) this.blocked.delete(admission.ownerOf(item));
    const now = clock.now();
    this.endCoolDowns();
    const without = new Set([...this.coolingDown.keys(), ...this.blocked.keys()]);
    const { items: shown, more } = ready(now, without, CANDIDATES_MAX);
    const offered = this.offered.filter(
      (item) => ![item.id, ...ownersOf(item)].some((id) => without.has(id)),
    );
    const items = [...shown, ...offered];
    this.nextDueAt = nextReadyAt(now) ?? Number.POSITIVE_INFINITY;
    // A page of nothing but what we are at shows all that it can until the read model moves.
    const hasNews = items.some((item) => !this.inFlight.has(item.id) && !this.isActedOn(item));
    this.isStale = more !== "none" && (hasNews || more === "next");
    this.isLookUnfinished = more === "next" && !hasNews;
    this.refilledAt = clock.monotonicMs();
    this.candidates = shuffled(items, random);
  }

  /** Forgets whose time of being left alone is over. */
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

/** Fisher and Yates' shuffle. */
function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const result = [...items];
  for (let index = result.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    [result[index], result[other]] = [result[other] as Item, result[index] as Item];
  }
  return result;
}
