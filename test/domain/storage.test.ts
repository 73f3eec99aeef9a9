import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import {
  confirmStorage,
  countStorage,
  releaseStorage,
  reserveStorage,
} from "../../src/domain/storage/decisions.ts";
import { type StorageEvent, storageCodec } from "../../src/domain/storage/events.ts";
import { openReservations, type Storage, storageDecider } from "../../src/domain/storage/state.ts";
import { rfc3339 } from "../../src/kernel/time.ts";
import { foldOf, givenWhenThen } from "../support/givenWhenThen.ts";

const noun = { decider: storageDecider, codec: storageCodec };
/** Long histories are long to shrink: what a failure is cut down to by then says enough. */
const RUNS = { interruptAfterTimeLimit: 4_000 };
const given = givenWhenThen(noun);
const NOW = Date.parse("2030-01-01T00:00:00Z");
const held = (holder: string, bytes: number): StorageEvent => ({
  type: "StorageReserved",
  data: { holder, bytes, until: rfc3339(NOW) },
});
const released = (holder: string): StorageEvent => ({ type: "StorageReleased", data: { holder } });
const confirmed = (...holders: string[]): StorageEvent => ({ type: "StorageConfirmed", data: { holders } });
const reserve = (holder: string, bytes: number, limit: number) => (state: Storage) =>
  reserveStorage(state, { owner: holder, bytes, until: NOW, limit });

describe("storage", () => {
  test("is reserved up to the limit itself", () => {
    given(held("a", 60))
      .when(reserve("b", 40, 100))
      .then("reserved", held("b", 40))
      .again("reserved");
    given(held("a", 60))
      .when(reserve("b", 41, 100))
      .then("exceeded");
  });

  test("is not denied to a request because of others that race for its message", () => {
    const request = { owner: "email-m/2", bytes: 50, until: NOW, racingBytes: 60 };
    given(held("a", 40), held("email-m/1", 60))
      .when((state) => reserveStorage(state, { ...request, limit: 100 }))
      .then("reserved", held("email-m/2", 50));
    given(held("a", 40), held("email-m/1", 60))
      .when((state) => reserveStorage(state, { ...request, limit: 89 }))
      .then("exceeded");
  });

  test("of a holder is replaced by its next reservation", () => {
    given(held("a", 60))
      .when(reserve("a", 100, 100))
      .then("reserved", held("a", 100));
    given(held("a", 60))
      .when(reserve("a", 101, 100))
      .then("exceeded");
    given(held("a", 60), held("a", 10))
      .when(reserve("b", 90, 100))
      .then("reserved", held("b", 90));
  });

  test("is released once", () => {
    given(held("a", 60))
      .when((state) => releaseStorage(state, "a"))
      .then("released", released("a"))
      .again("released");
    given(held("a", 60), released("a"))
      .when(reserve("b", 100, 100))
      .then("reserved", held("b", 100));
  });

  test("that was never reserved is not released", () => {
    given()
      .when((state) => releaseStorage(state, "a"))
      .then("released");
  });

  test("is confirmed once, for owners that hold any", () => {
    given(held("a", 1), held("b", 2), held("c", 3), confirmed("c"))
      .when((state) => confirmStorage(state, ["a", "c", "d"]))
      .then("confirmed", confirmed("a"))
      .again("confirmed");
  });

  test("accepts nothing under a lowered limit until enough was released", () => {
    given(held("a", 60), held("b", 40))
      .when(reserve("c", 1, 50))
      .then("exceeded");
    given(held("a", 60), held("b", 40), released("a"))
      .when(reserve("c", 10, 50))
      .then("reserved", held("c", 10));
  });
});

const holders = fc.nat(200).map((number) => `holder-${number}`);
const steps = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.tuple(fc.constant("reserve" as const), holders, fc.nat(100)) },
    { weight: 2, arbitrary: fc.tuple(fc.constant("release" as const), holders, fc.constant(0)) },
    { weight: 1, arbitrary: fc.tuple(fc.constant("confirm" as const), holders, fc.constant(0)) },
  ),
  { minLength: 50, maxLength: 400, size: "max" },
);

function decide(state: Storage, [kind, holder, bytes]: readonly [string, string, number], limit: number) {
  if (kind === "reserve") return reserveStorage(state, { owner: holder, bytes, until: NOW, limit });
  return kind === "release" ? releaseStorage(state, holder) : confirmStorage(state, [holder]);
}

describe("any history of storage", () => {
  test("uses the plain sum of what its holders hold, and never more than the limit", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4_000 }), steps, (limit, history) => {
        let state = storageDecider.initialState;
        const plain = new Map<string, number>();
        for (const step of history) {
          const { outcome, events } = decide(state, step, limit);
          state = events.reduce(storageDecider.evolve, state);
          if (outcome === "reserved") plain.set(step[1], step[2]);
          if (outcome === "released") plain.delete(step[1]);
          expect(state.used).toBeLessThanOrEqual(limit);
        }
        const open = [...openReservations(state)].map(([holder, { bytes }]) => [holder, bytes] as const);
        expect(new Map(open)).toEqual(plain);
        expect(state.used).toBe([...plain.values()].reduce((sum, bytes) => sum + bytes, 0));
      }),
      RUNS,
    );
  });

  test("can be restored from a count of everything open and the events since the count began", () => {
    fc.assert(
      fc.property(steps, fc.nat(399), fc.integer({ min: 1, max: 50 }), (history, truncateAt, chunk) => {
        let state = storageDecider.initialState;
        const events: StorageEvent[] = [];
        let truncatedBefore = 0;
        let toCount: string[] = [];
        const add = (newEvents: readonly StorageEvent[]) => {
          events.push(...newEvents);
          state = newEvents.reduce(storageDecider.evolve, state);
        };
        history.forEach((step, index) => {
          if (index === truncateAt) {
            truncatedBefore = events.length;
            toCount = [...openReservations(state)].map(([holder]) => holder);
          }
          // The count goes on in between what others do.
          if (toCount.length > 0) add(countStorage(state, toCount.splice(0, chunk)).events);
          add(decide(state, step, 4_000).events);
        });
        while (toCount.length > 0) add(countStorage(state, toCount.splice(0, chunk)).events);
        const restored = foldOf(noun, events.slice(truncatedBefore));
        expect(new Map(openReservations(restored))).toEqual(new Map(openReservations(state)));
        expect(restored.used).toBe(state.used);
      }),
      RUNS,
    );
  });
});
