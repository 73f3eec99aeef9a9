import { Problem } from "../server/problem.ts";

/** Reads that may wait for their turn; who comes after them is told to come again. */
const WAITING_MAX = 2_000;
/** Items that are looked up in one turn. */
const ITEMS_PER_TURN = 10;

/**
 * Makes reads take turns: one at each round of the event loop. Each holds the only thread for a millisecond or two, and
 * several behind one another would hold up whoever sends meanwhile.
 */
export class ReadTurns {
  readonly #waiting: (() => void)[] = [];

  /** Resolves when it is the caller's turn, for what it does before it waits for anything else. */
  async next(): Promise<void> {
    if (this.#waiting.length >= WAITING_MAX) {
      throw new Problem("INTERNAL_ERROR", {
        unavailable: true,
        detail: "too many lists are asked for at once",
      });
    }
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve);
      if (this.#waiting.length === 1) setImmediate(this.#giveTurn);
    });
  }

  /** What `look` says of each item, a few of them a turn. */
  async each<Item, Seen>(
    items: readonly Item[],
    look: (item: Item) => Promise<Seen>,
  ): Promise<readonly Seen[]> {
    const seen: Seen[] = [];
    for (let first = 0; first < items.length; first += ITEMS_PER_TURN) {
      await this.next();
      seen.push(...(await Promise.all(items.slice(first, first + ITEMS_PER_TURN).map(look))));
    }
    return seen;
  }

  readonly #giveTurn = () => {
    this.#waiting.shift()?.();
    if (this.#waiting.length > 0) setImmediate(this.#giveTurn);
  };
}
