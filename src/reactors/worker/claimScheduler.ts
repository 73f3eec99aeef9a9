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

/** Leave to work on one item, which whoever gave it wants back. */
export interface WorkPermit {
  /** Gives it back. Twice is once. */
  leave(): void;
}

/** Whether an item may be worked on: now, when its holder is released, or not for a time. */
export type AdmissionDecision =
  | { readonly kind: "enter" }
  | { readonly kind: "full" }
  | { readonly kind: "open"; readonly forMs: number };

/** Bounds of those that items belong to. */
export interface AdmissionControl<Item> {
  readonly holderOf: (item: Item) => string;
  readonly admits: (item: Item) => AdmissionDecision;
}

/** What a look at the read model shows. */
export interface Look<Item> {
  readonly items: readonly Item[];
  /** Whether more is due: shown once these are done, or shown by the next look, which goes on where this one ended. */
  readonly more: "none" | "afterThese" | "next";
}

export interface ClaimSchedulerOptions<Item extends ClaimableItem, Pass extends WorkPermit> {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly inFlightMax: number;
  /** Aborts when nothing more is to be begun. */
  readonly stopping: AbortSignal;
  /** What is due, less the given items and what belongs to the given holders. */
  readonly ready: (now: EpochMs, without: ReadonlySet<string>, limit: number) => Look<Item>;
  /** When the next item becomes due that is not so at `now`; null when none waits. */
  readonly nextReadyAt: (now: EpochMs) => EpochMs | null;
  /** Null: nothing can be worked on now. */
  readonly enter: () => Pass | null;
  /** Those whose items are left alone while they are on hold. */
  readonly holdersOf: (item: Item) => readonly string[];
  /** Where holders have bounds of their own. */
  readonly admission?: AdmissionControl<Item>;
  /**
   * Does the work and answers the newest revision that it acted on: its claim, not the outcome, which may make the
   * item due again. Null when it did not act.
   */
  readonly handle: (item: Item, pass: Pass) => Promise<number | null>;
  readonly onTrouble: (error: unknown, id: string) => void;
}

/** Due items that are looked at in one go, and picked from at random, so that instances seldom collide. */
const CANDIDATES_MAX = 512;
/** A look is taken at least this often; when there is news, also while there is enough at hand. */
const LOOK_MS = 250;
/** Between two looks of which the first showed nothing new, and the second goes on where it ended. */
const NEXT_LOOK_MS = 15;
/** How long a place rests after a fault of the store. */
const FAULT_REST_MS = 250;
/** How long an item is left alone whose work failed, when the store was not at fault: twice as long every time. */
const ITEM_REST_MS_FIRST = 500;
const ITEM_REST_MS_MAX = 60_000;
/** Items that are left alone at once, and whose faults are counted. */
const FAULTY_MAX = 10_000;
const HANDLED_MAX = 50_000;
/** Items of one holder that come back from aside at once: about as many as a holder ever has places. */
const RELEASED_MAX = 8;

/**
 * Works on what a read model shows as due, many at once. The read model says where to look, and may show what
 * was done already or what somebody else is at: `handle` claims, and the claim decides.
 */
export class ClaimScheduler<Item extends ClaimableItem, Pass extends WorkPermit> {
  private readonly inFlight = new Set<string>();
  /** Items in flight that the read model showed as due meanwhile, at a revision that is news. */
  private readonly passedOver = new Set<string>();
  /** The newest revision that was acted on, by item: the read model may still show an older one. */
  private readonly handled = new LRUCache<string, number>({ max: HANDLED_MAX });
  /** Holders whose items, and items that, are left alone until this time. */
  private readonly held = new Map<string, number>();
  /** How often in a row the work on an item has failed. */
  private readonly faults = new LRUCache<string, number>({ max: FAULTY_MAX });
  /** Items that wait for their holder to be released, by holder; the others that it has are not asked for. */
  private readonly aside = new Map<string, Item[]>();
  private readonly working = new Set<Promise<void>>();
  private readonly sleep: AbortableSleep;
  private candidates: Item[] = [];
  private isStale = true;
  /** The last look showed nothing new, and the next is to go on where it ended. */
  private goesOn = false;
  /** By the monotonic clock. */
  private refilledAt = 0;
  /** When the next item becomes due that was not so at the last look. */
  private nextDueAt = 0;
  /** When the next holder need no longer be left alone, by the monotonic clock. */
  private nextUnheldAt = Number.POSITIVE_INFINITY;

  constructor(private readonly options: ClaimSchedulerOptions<Item, Pass>) {
    this.sleep = abortableSleep(options.stopping);
  }

  /** Works until it is stopped, then waits for what is in flight. */
  async run(): Promise<void> {
    while (!this.options.stopping.aborted) {
      if (!this.begin()) await this.untilWork();
    }
    await Promise.all(this.working);
  }

  /** The read model has moved. */
  wake(): void {
    this.isStale = true;
    this.sleep.wakeAll();
  }

  /** There may be leave again where `enter` gave none. */
  nudge(): void {
    this.sleep.wakeAll();
  }

  /** Leaves everything of this holder alone for a while. */
  hold(holder: string, timeMs: number): void {
    const until = this.options.clock.monotonicMs() + timeMs;
    this.held.set(holder, until);
    this.nextUnheldAt = Math.min(this.nextUnheldAt, until);
  }

  /** There is a place for this holder's items again: they come after those that wait already. */
  release(holder: string): void {
    const items = this.aside.get(holder);
    if (!items) return;
    this.candidates.unshift(...items.splice(-RELEASED_MAX));
    if (items.length === 0) {
      this.aside.delete(holder);
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

  /** Begins with one item; false when there is no place, no leave or nothing due. */
  private begin(): boolean {
    if (this.inFlight.size >= this.options.inFlightMax) return false;
    const pass = this.options.enter();
    if (pass === null) return false;
    const item = this.take();
    if (item === null) {
      pass.leave();
      return false;
    }
    this.inFlight.add(item.id);
    const work = this.workOn(item, pass).finally(() => {
      this.working.delete(work);
      this.sleep.wakeAll();
    });
    this.working.add(work);
    return true;
  }

  private async workOn(item: Item, pass: Pass): Promise<void> {
    try {
      const revision = await this.options.handle(item, pass);
      if (revision !== null) this.handled.set(item.id, revision);
      this.faults.delete(item.id);
    } catch (error) {
      pass.leave();
      this.options.onTrouble(error, item.id);
      const isResting = !(error instanceof StoreError) && this.rest(item);
      if (!isResting) await this.sleep.sleep(FAULT_REST_MS);
    } finally {
      pass.leave();
      this.inFlight.delete(item.id);
      // Still due and nobody's, or due again before we were done: no news of the read model would make us look.
      if (this.passedOver.delete(item.id) || !this.isHandled(item)) this.isStale = true;
    }
  }

  /**
   * Leaves alone what cannot be worked on, because its stream cannot be read, say: for longer and longer. False when
   * too many are left alone already.
   */
  private rest({ id }: Item): boolean {
    if (this.held.size >= FAULTY_MAX) return false;
    const faults = this.faults.get(id) ?? 0;
    this.faults.set(id, faults + 1);
    this.hold(id, Math.min(ITEM_REST_MS_MAX, ITEM_REST_MS_FIRST * 2 ** faults));
    return true;
  }

  private isHandled({ id, revision }: Item): boolean {
    return (this.handled.get(id) ?? -1) >= revision;
  }

  /** A due item that nobody here is at; null when the read model shows none. */
  private take(): Item | null {
    if (this.isStale && (this.candidates.length === 0 || this.isLookDue())) this.refill();
    for (;;) {
      const item = this.candidates.pop();
      if (item === undefined) return null;
      if (this.isHandled(item) || this.isHeld(item)) continue;
      if (this.inFlight.has(item.id)) this.passedOver.add(item.id);
      else if (this.admits(item)) return item;
    }
  }

  private isHeld(item: Item): boolean {
    if (this.held.size === 0) return false;
    return this.held.has(item.id) || this.options.holdersOf(item).some((holder) => this.held.has(holder));
  }

  private admits(item: Item): boolean {
    const { admission } = this.options;
    if (!admission) return true;
    const holder = admission.holderOf(item);
    const admitted = admission.admits(item);
    if (admitted.kind === "open") {
      this.hold(holder, admitted.forMs);
      this.aside.delete(holder);
    } else if (admitted.kind === "full") {
      const items = this.aside.get(holder);
      if (items) items.push(item);
      else this.aside.set(holder, [item]);
    }
    return admitted.kind === "enter";
  }

  private isLookDue(): boolean {
    return this.options.clock.monotonicMs() - this.refilledAt >= LOOK_MS;
  }

  private refill(): void {
    const { clock, ready, nextReadyAt, random, admission } = this.options;
    // What is at hand is still due, and is read again; so is the rest of what its holders have aside.
    if (admission) for (const item of this.candidates) this.aside.delete(admission.holderOf(item));
    const now = clock.now();
    this.letGo();
    const without = new Set([...this.held.keys(), ...this.aside.keys()]);
    const { items, more } = ready(now, without, CANDIDATES_MAX);
    this.nextDueAt = nextReadyAt(now) ?? Number.POSITIVE_INFINITY;
    // A page of nothing but what we are at tells all that it can until the read model moves.
    const hasNews = items.some((item) => !this.inFlight.has(item.id) && !this.isHandled(item));
    this.isStale = more !== "none" && (hasNews || more === "next");
    this.goesOn = more === "next" && !hasNews;
    this.refilledAt = clock.monotonicMs();
    this.candidates = shuffled(items, random);
  }

  /** Holders whose time of being left alone is over. */
  private letGo(): void {
    const now = this.options.clock.monotonicMs();
    this.nextUnheldAt = Number.POSITIVE_INFINITY;
    for (const [holder, until] of this.held) {
      if (until <= now) this.held.delete(holder);
      else this.nextUnheldAt = Math.min(this.nextUnheldAt, until);
    }
  }

  /** Sleeps until there is work or a place for it, until something becomes due, or for a moment. */
  private async untilWork(): Promise<void> {
    const { clock } = this.options;
    if (this.goesOn) {
      this.goesOn = false;
      return this.sleep.sleep(NEXT_LOOK_MS);
    }
    const dueInMs = Math.max(1, this.nextDueAt - clock.now());
    await this.sleep.sleep(Math.min(dueInMs, LOOK_MS), { wakeable: true });
    if (this.nextDueAt <= clock.now() || this.nextUnheldAt <= clock.monotonicMs()) this.isStale = true;
  }
}

/** Fisher and Yates, with luck as data. */
function shuffled<Item>(items: readonly Item[], random: () => number): Item[] {
  const result = [...items];
  for (let index = result.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    [result[index], result[other]] = [result[other] as Item, result[index] as Item];
  }
  return result;
}
