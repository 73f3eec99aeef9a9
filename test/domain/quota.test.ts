import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { BLOCK_MAX, reserveBlock, returnUnused } from "../../src/domain/quota/decisions.ts";
import { type QuotaEvent, quotaCodec, quotaDay, quotaStream } from "../../src/domain/quota/events.ts";
import { quotaDecider } from "../../src/domain/quota/state.ts";
import { newId } from "../../src/kernel/ids.ts";
import { givenWhenThen } from "../support/givenWhenThen.ts";

/** Long histories are long to shrink: what a failure is cut down to by then says enough. */
const RUNS = { interruptAfterTimeLimit: 4_000 };
const given = givenWhenThen({ decider: quotaDecider, codec: quotaCodec });
const instance = "one";
const messageId = "0190a0b0-0000-7000-8000-000000000001";
const reserved = (count: number, sum: number): QuotaEvent => ({
  type: "QuotaReserved",
  data: { count, instance, reserved: sum },
});
const held = (sum: number): QuotaEvent => ({
  type: "QuotaReserved",
  data: { count: 1, instance, reserved: sum, messageId },
});
const returned = (count: number, sum: number): QuotaEvent => ({
  type: "QuotaReturned",
  data: { count, instance, reserved: sum },
});

describe("a block of a day's messages", () => {
  test.each([
    [1_000_000, 0, 256],
    [4_096, 0, 256],
    [4_095, 0, 255],
    [1_000, 0, 62],
    [1_000, 969, 1],
    [1_000, 999, 1],
    [1, 0, 1],
  ])("of a limit of %d with %d taken is %d", (limit, used, count) => {
    const past = used === 0 ? [] : [reserved(used, used)];
    given(...past)
      .when((quota) => reserveBlock(quota, { limit, instance, messageId }))
      .then(
        count === 1 ? { kind: "single" } : { kind: "block", count },
        count === 1 ? held(used + 1) : reserved(count, used + count),
      );
  });

  test.each([
    [1_000, 1_000],
    [999, 1_000],
    [0, 0],
  ])("of a limit of %d with %d taken is none", (limit, used) => {
    given(...(used === 0 ? [] : [reserved(used, used)]))
      .when((quota) => reserveBlock(quota, { limit, instance, messageId }))
      .then({ kind: "none" });
  });

  test("that is returned can be taken again", () => {
    given(reserved(62, 62))
      .when((quota) => returnUnused(quota, { count: 60, instance }))
      .then("returned", returned(60, 2));
    given(reserved(62, 62), returned(60, 2))
      .when((quota) => reserveBlock(quota, { limit: 3, instance, messageId }))
      .then({ kind: "single" }, held(3));
  });

  test("of one belongs to its message: at the limit another request for that message gets one, and no other message does", () => {
    const repeatedReservation = {
      type: "QuotaReserved",
      data: { count: 1, instance: "two", reserved: 3, messageId },
    } as const;
    given(reserved(1, 1), held(2))
      .when((quota) => reserveBlock(quota, { limit: 2, instance: "two", messageId }))
      .then({ kind: "single" }, repeatedReservation);
    given(reserved(1, 1), held(2))
      .when((quota) => reserveBlock(quota, { limit: 2, instance: "two", messageId: "another" }))
      .then({ kind: "none" });
    const back = { type: "QuotaReturned", data: { count: 1, instance, reserved: 2, messageId } } as const;
    given(reserved(1, 1), held(2), repeatedReservation)
      .when((quota) => returnUnused(quota, { count: 1, instance, messageId }))
      .then("returned", back);
    given(reserved(1, 1), held(2), repeatedReservation, back, returned(1, 1), reserved(1, 2))
      .when((quota) => reserveBlock(quota, { limit: 2, instance, messageId }))
      .then({ kind: "single" }, held(3));
  });

  test("without anything left is not returned", () => {
    given(reserved(62, 62))
      .when((quota) => returnUnused(quota, { count: 0, instance }))
      .then("returned");
  });
});

describe("a day", () => {
  test("is a UTC day, from midnight on", () => {
    const midnight = Date.parse("2030-01-02T00:00:00Z");
    const workspace = "0190a0b0-0000-7000-8000-000000000000";
    expect(quotaStream(workspace, quotaDay(midnight - 1))).toBe(`quota-${workspace}-20300101`);
    expect(quotaStream(workspace, quotaDay(midnight))).toBe(`quota-${workspace}-20300102`);
  });
});

type Kind = "use" | "return" | "crash";

/** Instances over one day, each with what it has in hand. */
function simulation(limit: number) {
  let quota = quotaDecider.initialState;
  const inReserve = [0, 0, 0, 0];
  const reserve = (index: number) => {
    const request = { limit, instance: String(index), messageId: newId() };
    const { outcome, events } = reserveBlock(quota, request);
    quota = events.reduce(quotaDecider.evolve, quota);
    inReserve[index] = outcome.kind === "block" ? outcome.count : outcome.kind === "single" ? 1 : 0;
  };
  const simulated = {
    used: 0,
    lost: 0,
    crashes: 0,
    use(index: number): boolean {
      if (inReserve[index] === 0) reserve(index);
      if (inReserve[index] === 0) return false;
      inReserve[index] = (inReserve[index] as number) - 1;
      simulated.used += 1;
      return true;
    },
    return(index: number) {
      const { events } = returnUnused(quota, { count: inReserve[index] as number, instance: String(index) });
      quota = events.reduce(quotaDecider.evolve, quota);
      inReserve[index] = 0;
    },
    crash(index: number) {
      simulated.lost += inReserve[index] as number;
      simulated.crashes += 1;
      inReserve[index] = 0;
    },
  };
  return simulated;
}

describe("any number of instances", () => {
  const kinds = fc.constantFrom<Kind[]>("use", "use", "use", "use", "return", "crash");
  const steps = fc.array(fc.tuple(kinds, fc.nat(3)), { maxLength: 600, size: "max" });

  test("together use the limit and no more; only a crash can lose what it held in reserve", () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 2_000 }), steps, (limit, history) => {
        const day = simulation(limit);
        for (const [kind, index] of history) day[kind](index);
        expect(day.used).toBeLessThanOrEqual(limit);
        for (const index of [0, 1, 2, 3]) day.return(index);
        while (day.use(0));
        expect(day.used).toBe(limit - day.lost);
        expect(day.lost).toBeLessThanOrEqual(day.crashes * BLOCK_MAX);
      }),
      RUNS,
    );
  });
});
