import { edenGC, fullGC, heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { InFlightMap, InFlightSet } from "../../src/kernel/shortLivedCollections.ts";

const PASSING = 100_000;
const AT_ONCE = 32;
const SMALL_COLLECTION_EVERY = 2_000;
/** Several times what can arrive between two minor collections. */
const KEPT_MAX = 5 * SMALL_COLLECTION_EVERY;

interface Collection {
  begin(number: number): () => void;
}

/** How many objects only a full collection frees after so many have passed, a few at a time. */
function countRemaining({ begin }: Collection): number {
  fullGC();
  const ends: (() => void)[] = [];
  for (let number = 0; number < PASSING; number += 1) {
    ends[number % AT_ONCE]?.();
    ends[number % AT_ONCE] = begin(number);
    if (number % SMALL_COLLECTION_EVERY === 0) edenGC();
  }
  edenGC();
  const before = heapStats().objectTypeCounts.Object ?? 0;
  fullGC();
  return before - (heapStats().objectTypeCounts.Object ?? 0);
}

describe("removed members are freed by the next minor garbage collection:", () => {
  test("of a set", () => {
    const members = new InFlightSet<object>();
    const begin = (number: number) => {
      const flight = members.add({ number });
      return () => void members.delete(flight);
    };
    expect(countRemaining({ begin })).toBeLessThan(KEPT_MAX);
  });

  test("of a map", () => {
    const members = new InFlightMap<object>();
    const begin = (number: number) => {
      members.set(`number ${number}`, { number });
      return () => void members.delete(`number ${number}`);
    };
    expect(countRemaining({ begin })).toBeLessThan(KEPT_MAX);
  });

  test("but not those of a plain Set, else InFlightSet and InFlightMap would have no purpose", () => {
    const members = new Set<object>();
    const begin = (number: number) => {
      const member = { number };
      members.add(member);
      return () => void members.delete(member);
    };
    expect(countRemaining({ begin })).toBeGreaterThan(PASSING / 2);
  });
});

const steps = fc.array(fc.record({ isAdded: fc.boolean(), which: fc.nat({ max: 20 }) }), { maxLength: 200 });

test("InFlightSet holds what a Set holds", () => {
  fc.assert(
    fc.property(steps, (walk) => {
      const members = new InFlightSet<number>();
      const model = new Map<number, ReturnType<typeof members.add>>();
      walk.forEach(({ isAdded, which }, number) => {
        const known = [...model.values()][which];
        if (isAdded || known === undefined) model.set(number, members.add(number));
        else {
          expect(members.delete(known)).toBe(true);
          expect(members.delete(known)).toBe(false);
          model.delete(known.value);
        }
        expect([...members.values()].sort()).toEqual([...model.keys()].sort());
      });
    }),
  );
});

test("InFlightMap holds what a Map holds, whatever the key", () => {
  const keys = fc.constantFrom("a", "b", "__proto__", "constructor", "toString", "1", "");
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.boolean(), keys), { maxLength: 100 }), (walk) => {
      const members = new InFlightMap<{ number: number }>();
      const model = new Map<string, { number: number }>();
      walk.forEach(([isSet, key], number) => {
        if (isSet) {
          members.set(key, { number });
          model.set(key, { number });
        } else expect(members.delete(key)).toBe(model.delete(key));
        expect(members.get(key)).toEqual(model.get(key));
        expect(members.size).toBe(model.size);
        expect([...members.values()].length).toBe(model.size);
      });
    }),
  );
});
