import { Problem } from "../server/problem.ts";

/** Reads that may wait; further ones are refused with a 503. */
const WAITING_MAX = 2_000;
/** Items that are looked up at once. */
const ITEMS_PER_READ = 10;

/**
 * Runs one read in each round of the event loop. A read holds the only thread for a millisecond or two, and several in a
 * row would delay the sends that wait behind them.
 */
export class ReadScheduler {
  readonly #waiting: (() => void)[] = [];

  /** Resolves when the caller may run one query, before it awaits anything else. */
  async nextRead(): Promise<void> {
    if (this.#waiting.length >= WAITING_MAX) {
      throw new Problem("INTERNAL_ERROR", {
        unavailable: true,
        detail: "too many lists are asked for at once",
      });
    }
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(this.#runNext);
    });
  }

  /** The result of `look` for each item, in their order, a few items in each round. */
  async mapEach<Item, Seen>(
    items: readonly Item[],
    look: (item: Item) => Promise<Seen>,
  ): Promise<readonly Seen[]> {
    const seen: Seen[] = [];
    for (let first = 0; first < items.length; first += ITEMS_PER_READ) {
      await this.nextRead();
      seen.push(...(await Promise.all(items.slice(first, first + ITEMS_PER_READ).map(look))));
    }
    return seen;
  }

  readonly #runNext = () => {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(this.#runNext);
  };
}
