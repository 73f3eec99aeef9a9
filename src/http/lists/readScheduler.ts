import { unavailable } from "../server/problem.ts";

/** Reads that may wait; more are refused with a 503. */
const WAITING_MAX = 2_000;
/** Item look-ups to begin per turn of the event loop. */
const ITEMS_PER_READ = 10;
/** Concurrent look-ups of one page: a store in another process answers later than the next turn. */
const ITEMS_UNDER_WAY_MAX = 40;

/**
 * Runs one read per turn of the event loop. A read holds the only thread for a millisecond or two, and several in a
 * row would delay the sends behind them.
 */
export class ReadScheduler {
  private readonly waiting: (() => void)[] = [];

  /** Resolves when the caller may run one query, before it awaits anything else. */
  async nextRead(): Promise<void> {
    if (this.waiting.length >= WAITING_MAX) throw unavailable("too many lists are asked for at once");
    await new Promise<void>((resolve) => {
      this.waiting.push(resolve);
      if (this.waiting.length === 1) setImmediate(this.runNext);
    });
  }

  /**
   * The result of `look` for each item, in order. Begins a few per turn, whether or not earlier ones have ended.
   * After a failure it begins no more, waits for those in flight and throws the first error.
   */
  async mapEach<Item, Seen>(
    items: readonly Item[],
    look: (item: Item) => Promise<Seen>,
  ): Promise<readonly Seen[]> {
    const seen = new Array<Seen>(items.length);
    const underWay = new Set<Promise<void>>();
    const failures: unknown[] = [];
    const begin = async (item: Item, index: number) => {
      try {
        seen[index] = await look(item);
      } catch (error) {
        failures.push(error);
      }
    };
    for (let first = 0; first < items.length && failures.length === 0; first += ITEMS_PER_READ) {
      while (underWay.size > ITEMS_UNDER_WAY_MAX - ITEMS_PER_READ) await Promise.race(underWay);
      await this.nextRead();
      items.slice(first, first + ITEMS_PER_READ).forEach((item, nth) => {
        const looked = begin(item, first + nth).finally(() => underWay.delete(looked));
        underWay.add(looked);
      });
    }
    await Promise.all(underWay);
    if (failures.length > 0) throw failures[0];
    return seen;
  }

  private readonly runNext = () => {
    this.waiting.shift()?.();
    if (this.waiting.length > 0) setImmediate(this.runNext);
  };
}
