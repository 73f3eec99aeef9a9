import { LRUCache } from "lru-cache";
import { RoundRobinQueue } from "../../kernel/concurrency/roundRobinQueue.ts";

/** By how many owners of an item turns are taken: those of mail by workspace and, within it, by sender. */
const DEPTH = 2;
/** Owners whose last turn is remembered. One that was forgotten is next. */
const OWNERS_MAX = 10_000;

/**
 * Whose item is next. Owners take turns, and so do the narrower owners within each, so that one item of somebody never
 * waits behind the many of somebody else.
 */
export class OwnerTurns<Item> {
  private turn = 0;
  private readonly lastTurns = new LRUCache<string, number>({ max: OWNERS_MAX });

  /** `ownersOf`: the owners of an item, the widest first. */
  constructor(private readonly ownersOf: (item: Item) => readonly string[]) {}

  /** Records that the owners of an item have had a turn. */
  record(item: Item): void {
    this.turn += 1;
    for (const owner of this.ownersOf(item).slice(0, DEPTH)) this.lastTurns.set(owner, this.turn);
  }

  /** The items in the order of turns, which begin with who has waited longest. Those of one owner keep theirs. */
  inTurns(items: readonly Item[]): Item[] {
    return this.interleaved(items, 0);
  }

  private interleaved(items: readonly Item[], depth: number): Item[] {
    if (depth === DEPTH) return [...items];
    const byOwner = Map.groupBy(items, (item) => this.ownersOf(item)[depth] ?? "");
    const longestWaiting = [...byOwner].sort(
      ([left], [right]) => this.lastTurnOf(left) - this.lastTurnOf(right),
    );
    const queue = new RoundRobinQueue<Item>();
    for (const [owner, share] of longestWaiting)
      for (const item of this.interleaved(share, depth + 1)) queue.add(owner, item);
    return items.map(() => queue.next() as Item);
  }

  private lastTurnOf(owner: string): number {
    return this.lastTurns.get(owner) ?? 0;
  }
}
