import { LRUCache } from "lru-cache";
import type { EpochMs } from "../kernel/time.ts";
import type { Clock } from "../ports/clock.ts";
import { type Pauses, pauses } from "./pauses.ts";

/** Something that is due, as a read model shows it. `revision` is the event that made it so. */
export interface DueItem {
  readonly id: string;
  readonly revision: number;
}

/** Leave to work on one item, which whoever gave it wants back. */
export interface WorkPass {
  /** Gives it back. Twice is once. */
  leave(): void;
}

/** Bounds of those that items belong to. */
export interface Admission<Item> {
  readonly holderOf: (item: Item) => string;
  /** Whether there is a place for it now; if not, its holder's items are put aside until `release`. */
  readonly admits: (item: Item) => boolean;
}

export interface DueWorkOptions<Item extends DueItem, Pass extends WorkPass> {
  readonly clock: Clock;
  /** In [0, 1). */
  readonly random: () => number;
  readonly inFlightMax: number;
  /** Aborts when nothing more is to be begun. */
  readonly stopping: AbortSignal;
  /** What has been due longest, less what belongs to the given holders. */
  readonly ready: (now: EpochMs, without: readonly string[], limit: number) => readonly Item[];
  /** When the next item becomes due that is not so at `now`; null when none waits. */
  readonly nextReadyAt: (now: EpochMs) => EpochMs | null;
  /** Null: nothing can be worked on now. */
  readonly enter: () => Pass | null;
  /** Where holders have bounds of their own. */
  readonly admission?: Admission<Item>;
  /**
   * Does the work and answers the newest revision that it acted on: its claim, not the outcome, which may make the
   * item due again. Null when it did not act.
   */
  readonly handle: (item: Item, pass: Pass) => Promise<number | null>;
  readonly onTrouble: (error: unknown, id: string) => void;
}

/** Due items that are looked at in one go, and picked from at random, so that instances seldom collide. */
const CANDIDATES_MAX = 512;
/** A look is taken at least this often. */
const LOOK_MS = 250;
/** How long a place rests after a fault of the store. */
const FAULT_REST_MS = 250;
const HANDLED_MAX = 50_000;

/**
 * Works on what a read model shows as due, many at once. The read model says where to look, and may show what
 * was done already or what somebody else is at: `handle` claims, and the claim decides.
 */
export class DueWork<Item extends DueItem, Pass extends WorkPass> {
  private readonly inFlight = new Set<string>();
  /** Items in flight that the read model showed as due meanwhile, at a revision that is news. */
  private readonly passedOver = new Set<string>();
  /** The newest revision that was acted on, by item: the read model may still show an older one. */
  private readonly handled = new LRUCache<string, number>({ max: HANDLED_MAX });
  /** Holders whose items are left alone until this time. */
  private readonly held = new Map<string, number>();
  /** Items that wait for their holder to be released, by holder. */
  private readonly aside = new Map<string, Item[]>();
  private readonly working = new Set<Promise<void>>();
  private readonly pauses: Pauses;
  private candidates: Item[] = [];
  private isStale = true;
  /** When the next item becomes due that was not so at the last look. */
  private nextDueAt = 0;

  constructor(private readonly options: DueWorkOptions<Item, Pass>) {
    this.pauses = pauses(options.stopping);
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
    this.pauses.wakeAll();
  }

  /** Leaves everything of this holder alone for a while. */
  hold(holder: string, timeMs: number): void {
    this.held.set(holder, this.options.clock.monotonicMs() + timeMs);
  }

  /** There is a place for this holder's items again. */
  release(holder: string): void {
    const items = this.aside.get(holder);
    if (!items) return;
    this.aside.delete(holder);
    this.held.delete(holder);
    this.candidates.push(...items);
    this.pauses.wakeAll();
  }

  /** The holders that are left alone. */
  get heldNow(): readonly string[] {
    return [...this.held.keys()];
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
      this.pauses.wakeAll();
    });
    this.working.add(work);
    return true;
  }

  private async workOn(item: Item, pass: Pass): Promise<void> {
    try {
      const revision = await this.options.handle(item, pass);
      if (revision !== null) this.handled.set(item.id, revision);
    } catch (error) {
      pass.leave();
      this.options.onTrouble(error, item.id);
      await this.pauses.pause(FAULT_REST_MS);
    } finally {
      pass.leave();
      this.inFlight.delete(item.id);
      // Still due and nobody's, or due again before we were done: no news of the read model would make us look.
      if (this.passedOver.delete(item.id) || !this.isHandled(item)) this.isStale = true;
    }
  }

  private isHandled({ id, revision }: Item): boolean {
    return (this.handled.get(id) ?? -1) >= revision;
  }

  /** A due item that nobody here is at; null when the read model shows none. */
  private take(): Item | null {
    if (this.candidates.length === 0 && this.isStale) this.refill();
    for (;;) {
      const item = this.candidates.pop();
      if (item === undefined) return null;
      if (this.isHandled(item)) continue;
      if (this.inFlight.has(item.id)) this.passedOver.add(item.id);
      else if (this.options.admission?.admits(item) === false) this.putAside(item, this.options.admission);
      else return item;
    }
  }

  private putAside(item: Item, { holderOf }: Admission<Item>): void {
    const holder = holderOf(item);
    const items = this.aside.get(holder) ?? [];
    items.push(item);
    this.aside.set(holder, items);
    this.held.set(holder, Number.POSITIVE_INFINITY);
  }

  private refill(): void {
    const { clock, ready, nextReadyAt, random } = this.options;
    const now = clock.now();
    const monotonic = clock.monotonicMs();
    for (const [holder, until] of this.held) if (until <= monotonic) this.held.delete(holder);
    const items = ready(now, this.heldNow, CANDIDATES_MAX);
    this.nextDueAt = nextReadyAt(now) ?? Number.POSITIVE_INFINITY;
    this.isStale = items.length === CANDIDATES_MAX || this.held.size > 0;
    this.candidates = shuffled(items, random);
  }

  /** Sleeps until there is work or a place for it, until something becomes due, or for a moment. */
  private async untilWork(): Promise<void> {
    const { clock } = this.options;
    const dueInMs = Math.max(1, this.nextDueAt - clock.now());
    await this.pauses.pause(Math.min(dueInMs, LOOK_MS), { wakeable: true });
    if (this.nextDueAt <= clock.now()) this.isStale = true;
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
