import { LRUCache } from "lru-cache";

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
    const shares = [...byOwner].map(([owner, share]) => ({
      lastTurn: this.lastTurns.get(owner) ?? 0,
      items: this.interleaved(share, depth + 1),
    }));
    shares.sort((left, right) => left.lastTurn - right.lastTurn);
    return roundRobin(shares.map((share) => share.items));
  }
}

/** The first of each list, then the second of each that has one, and so on. */
function roundRobin<Item>(lists: readonly (readonly Item[])[]): Item[] {
  const result: Item[] = [];
  let left = lists;
  for (let index = 0; left.length > 0; index += 1) {
    left = left.filter((list) => index < list.length);
    for (const list of left) result.push(list[index] as Item);
  }
  return result;
}
