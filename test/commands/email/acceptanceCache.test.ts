import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { acceptanceCache } from "../../../src/commands/email/send/acceptanceCache.ts";
import { ACCEPTED_AS } from "../../../src/domain/email/events.ts";
import type { Acceptance } from "../../../src/domain/email/idempotency.ts";

const anId = fc.uuid({ version: 5 });
const anAcceptance: fc.Arbitrary<Acceptance> = fc.record({
  fingerprint: fc.stringMatching(/^[0-9a-f]{64}$/),
  acceptedAs: fc.constantFrom(...Object.values(ACCEPTED_AS)),
  acceptedAt: fc.integer({ min: 0, max: 8.64e15 }),
});
/** Ids of one set: they end alike, and begin alike in the bits that choose the set. */
const inOneSet = (number: number) => `${number.toString(16).padStart(5, "0")}abc-0000-5000-8000-000000000000`;
const acceptance: Acceptance = { fingerprint: "5f".repeat(32), acceptedAs: "queued", acceptedAt: 1 };

describe("the cache of acceptances", () => {
  test("returns what was last set under an id, and nothing under others", () => {
    fc.assert(
      fc.property(fc.array(fc.tuple(anId, anAcceptance), { maxLength: 50 }), anId, (entries, other) => {
        const cache = acceptanceCache();
        for (const [id, one] of entries) cache.set(id, one);
        const last = new Map(entries);
        for (const [id, one] of last) expect(cache.get(id)).toEqual(one);
        if (!last.has(other)) expect(cache.get(other)).toBeUndefined();
      }),
      { numRuns: 50 },
    );
  });

  test("keeps 20,000 of the ids that messages have, nearly all", () => {
    const cache = acceptanceCache();
    const ids = Array.from({ length: 20_000 }, (_, number) =>
      String(Bun.randomUUIDv5(`key-${number}`, "dns")),
    );
    ids.forEach((id, number) => {
      cache.set(id, { ...acceptance, acceptedAt: number });
    });
    const kept = ids.filter((id, number) => cache.get(id)?.acceptedAt === number);
    expect(kept.length).toBeGreaterThan(19_000);
  });

  test("forgets the oldest of a set that is full, whether it was looked up or not", () => {
    const cache = acceptanceCache();
    for (let number = 1; number <= 9; number += 1) {
      cache.set(inOneSet(number), { ...acceptance, acceptedAt: number });
      cache.get(inOneSet(1));
    }
    expect(cache.get(inOneSet(1))).toBeUndefined();
    for (let number = 2; number <= 9; number += 1)
      expect(cache.get(inOneSet(number))?.acceptedAt).toBe(number);
  });

  test("does not keep a fingerprint that it could not return as it was", () => {
    for (const fingerprint of ["", "5f", "zz".repeat(32), "5f".repeat(33), `${"5f".repeat(31)}zz`]) {
      const cache = acceptanceCache();
      const [before, one, after] = [inOneSet(1), inOneSet(2), inOneSet(3)];
      for (const id of [before, one, after]) cache.set(id, acceptance);
      cache.set(one, { ...acceptance, fingerprint });
      expect(cache.get(one)).toBeUndefined();
      for (const id of [before, after]) expect(cache.get(id)).toEqual(acceptance);
    }
  });
});
