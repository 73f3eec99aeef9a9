import { seededRandom } from "../bench/httpLoad.ts";

/** Choices that a seed repeats. */
export interface Random {
  /** From 0 (included) to 1. */
  fraction(): number;
  /** A whole number from `low` to `high`, both included. */
  integer(low: number, high: number): number;
  chance(probability: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
}

export function makeRandom(seed: number): Random {
  const fraction = seededRandom(seed);
  const integer = (low: number, high: number) => low + Math.floor(fraction() * (high - low + 1));
  return {
    fraction,
    integer,
    chance: (probability) => fraction() < probability,
    pick(items) {
      if (items.length === 0) throw new Error("there is nothing to pick from");
      return items[integer(0, items.length - 1)] as (typeof items)[number];
    },
  };
}

/** A UUID that nobody has, from the seed. */
export function randomUuid(random: Random): string {
  const hex = Array.from({ length: 32 }, () => random.integer(0, 15).toString(16)).join("");
  return hex.replace(/^(.{8})(.{4}).(.{3}).(.{3})(.{12}).*$/, "$1-$2-4$3-a$4-$5");
}
