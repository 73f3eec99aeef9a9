import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { workspaceAggregate } from "../../src/commands/aggregateDefinitions.ts";
import { RELAY_REPLY_READINGS } from "../../src/domain/email/delivery/smtpReplyRules.ts";
import { HARD_BOUNCE_REASONS } from "../../src/domain/email/events.ts";
import { pauseSending, resumeSending } from "../../src/domain/workspace/decisions.ts";
import type { WorkspaceEvent } from "../../src/domain/workspace/events.ts";
import {
  isAtThreshold,
  pauseAtThreshold,
  pauseReason,
  pausesCountFrom,
  percentText,
  RATE_MESSAGES_MIN,
  type RateThresholds,
  ratesCountFrom,
  type SendingCounts,
  sendingRate,
} from "../../src/domain/workspace/sendingRates.ts";
import { DAY_MS, HOUR_MS, rfc3339 } from "../../src/kernel/time.ts";
import { foldOf, givenWhenThen } from "../support/givenWhenThen.ts";

const given = givenWhenThen(workspaceAggregate);
const NOW = Date.parse("2030-01-08T12:30:00Z");
const FROM = ratesCountFrom(NOW);
const created: WorkspaceEvent = { type: "WorkspaceCreated", data: { name: "shop" } };
const paused = (at: number): WorkspaceEvent => ({ type: "SendingPaused", data: { at: rfc3339(at) } });
const resumed = (at: number): WorkspaceEvent => ({ type: "SendingResumed", data: { at: rfc3339(at) } });
/** 10 % and 0.5 %. */
const PAUSE: RateThresholds = { bounce: 10_000, complaint: 500 };
const none: SendingCounts = { sent: 0, hardBounced: 0, complained: 0 };

const pausing = (counts: Partial<SendingCounts>, thresholds = PAUSE, from = FROM) => {
  return (state: Parameters<typeof pauseAtThreshold>[0]) =>
    pauseAtThreshold(state, { from, ...none, ...counts }, thresholds, NOW);
};
const pausedFor = (kind: string, reported: number, sent: number, from = FROM): WorkspaceEvent => ({
  type: "SendingPaused",
  data: { at: rfc3339(NOW), rate: { kind, reported, sent, since: rfc3339(from) } },
});
const pausedForBounces = (at: number): WorkspaceEvent => ({
  type: "SendingPaused",
  data: { at: rfc3339(at), rate: { kind: "bounce", reported: 10, sent: 100, since: rfc3339(FROM) } },
});

test("hard bounces are those whose reason suppresses the address", () => {
  const suppressing = Object.entries(RELAY_REPLY_READINGS).filter(
    ([, { permanent }]) => permanent === "suppress",
  );
  expect(suppressing.map(([reason]) => reason).sort()).toEqual([...HARD_BOUNCE_REASONS].sort());
});

describe("a workspace", () => {
  test("is paused once when a rate reaches its threshold, and says why", () => {
    given(created)
      .when(pausing({ sent: 100, hardBounced: 10 }))
      .then("paused", pausedFor("bounce", 10, 100))
      .again("paused");
    given(created)
      .when(pausing({ sent: 1_000, complained: 5 }))
      .then("paused", pausedFor("complaint", 5, 1_000));
    expect(pauseReason(foldOf(workspaceAggregate, [created, pausedFor("complaint", 5, 1_000)]))).toBe(
      "The service paused it: its complaint rate was 0.5 % (5 complaints of 1,000 messages since 2030-01-01T12:00:00.000Z).",
    );
  });

  test("goes on below it, with too few messages, and without a threshold", () => {
    for (const counts of [
      { sent: 101, hardBounced: 10 },
      { sent: 99, hardBounced: 99 },
      { sent: 999, complained: 99 },
    ])
      given(created).when(pausing(counts)).then("below");
    given(created)
      .when(pausing({ sent: 1_000, hardBounced: 1_000, complained: 1_000 }, { bounce: 0, complaint: 0 }))
      .then("below");
  });

  test("is neither paused twice nor paused if it was never created", () => {
    given(created, paused(NOW - 1))
      .when(pausing({ sent: 100, hardBounced: 100 }))
      .then("paused");
    given()
      .when(pausing({ sent: 100, hardBounced: 100 }))
      .then("notFound");
  });

  test("is not paused by what was counted before it was resumed", () => {
    const high = { sent: 100, hardBounced: 100 };
    const past = [created, pausedForBounces(NOW - DAY_MS), resumed(NOW - HOUR_MS)];
    given(...past)
      .when(pausing(high))
      .then("resumed");
    const from = pausesCountFrom(foldOf(workspaceAggregate, past), NOW);
    expect(rfc3339(from)).toBe("2030-01-08T12:00:00.000Z");
    given(...past)
      .when(pausing(high, PAUSE, from))
      .then("paused", pausedFor("bounce", 100, 100, from));
  });

  test("counts on through a pause that somebody made, and a resumption that is dated later than now", () => {
    const own = [created, paused(NOW - DAY_MS), resumed(NOW - HOUR_MS)];
    const ahead = [created, pausedForBounces(NOW - DAY_MS), resumed(NOW + DAY_MS)];
    for (const past of [own, ahead]) {
      expect(pausesCountFrom(foldOf(workspaceAggregate, past), NOW)).toBe(FROM);
      given(...past)
        .when(pausing({ sent: 100, hardBounced: 100 }))
        .then("paused", pausedFor("bounce", 100, 100));
    }
    const later = [...own, pausedForBounces(NOW - 2), resumed(NOW - 1), paused(NOW), resumed(NOW)];
    expect(pausesCountFrom(foldOf(workspaceAggregate, later), NOW)).toBeGreaterThan(NOW - 1);
  });

  test("that was resumed, or that somebody paused, gives no reason", () => {
    const fold = (...events: WorkspaceEvent[]) => foldOf(workspaceAggregate, [created, ...events]);
    expect(pauseReason(fold(paused(NOW)))).toBeNull();
    expect(pauseReason(fold(pausedFor("bounce", 10, 100), resumed(NOW)))).toBeNull();
    expect(pauseReason(fold())).toBeNull();
  });
});

const counts = fc
  .record({ sent: fc.nat(20_000), hardBounced: fc.nat(20_000), complained: fc.nat(20_000) })
  .map(({ sent, hardBounced, complained }) => ({
    sent,
    hardBounced: Math.min(hardBounced, sent),
    complained: Math.min(complained, sent),
  }));
const thresholds = fc.record({ bounce: fc.nat(100_000), complaint: fc.nat(100_000) });

describe("the decision to pause (properties):", () => {
  test("it is made exactly if a rate of enough messages is at its threshold or above", () => {
    fc.assert(
      fc.property(counts, thresholds, (counted, limits) => {
        const state = foldOf(workspaceAggregate, [created]);
        const { events } = pauseAtThreshold(state, { from: FROM, ...counted }, limits, NOW);
        const isHigh = (reported: number, min: number, threshold: number) =>
          threshold > 0 &&
          counted.sent >= min &&
          BigInt(reported) * 100_000n >= BigInt(threshold * counted.sent);
        const expected =
          isHigh(counted.hardBounced, 100, limits.bounce) ||
          isHigh(counted.complained, 1_000, limits.complaint);
        expect(events).toHaveLength(expected ? 1 : 0);
      }),
      { numRuns: 500 },
    );
  });

  test("at the boundary one message decides, in either direction", () => {
    const of = fc.record({
      hundreds: fc.integer({ min: 1, max: 500 }),
      percent: fc.integer({ min: 1, max: 99 }),
    });
    fc.assert(
      fc.property(of, ({ hundreds, percent }) => {
        const at = { ...none, sent: hundreds * 100, hardBounced: hundreds * percent };
        const isHigh = (one: SendingCounts) => isAtThreshold(sendingRate("bounce", one), percent * 1_000);
        expect(isHigh(at)).toBe(true);
        expect(isHigh({ ...at, hardBounced: at.hardBounced - 1 })).toBe(false);
        expect(isHigh({ ...at, sent: at.sent + 1 })).toBe(false);
      }),
    );
  });

  test("whatever was counted, a resumption is followed by no pause without messages since", () => {
    const waits = fc.array(fc.integer({ min: 1, max: 3 * DAY_MS }), { minLength: 2, maxLength: 8 });
    fc.assert(
      fc.property(waits, counts, thresholds, (rests, counted, limits) => {
        let at = NOW - 10 * DAY_MS;
        let resumedLast = 0;
        const events = rests.map((rest, nth) => {
          at += rest;
          if (nth % 2 === 1) resumedLast = at;
          return nth % 2 === 0 ? pausedForBounces(at) : resumed(at);
        });
        const state = foldOf(workspaceAggregate, [created, ...events]);
        expect(pausesCountFrom(state, at)).toBeGreaterThanOrEqual(resumedLast);
        expect(pausesCountFrom(state, at)).toBeGreaterThanOrEqual(ratesCountFrom(at));
        expect(pausesCountFrom(state, at) % HOUR_MS).toBe(0);
        const early = pauseAtThreshold(state, { from: resumedLast - 1, ...counted }, limits, at);
        expect(early.events).toEqual([]);
        expect(
          pauseAtThreshold(state, { from: pausesCountFrom(state, at), ...none }, limits, at).events,
        ).toEqual([]);
      }),
    );
  });

  test("it and an operator's commands never leave two pauses in a row", () => {
    const steps = fc.array(fc.constantFrom("rate", "pause", "resume"), { maxLength: 12 });
    fc.assert(
      fc.property(steps, (words) => {
        const events: WorkspaceEvent[] = [created];
        words.forEach((word, nth) => {
          const state = foldOf(workspaceAggregate, events);
          const at = NOW + nth * HOUR_MS;
          const counted = { from: pausesCountFrom(state, at), sent: 100, hardBounced: 100, complained: 0 };
          const decision = {
            rate: () => pauseAtThreshold(state, counted, PAUSE, at),
            pause: () => pauseSending(state, at),
            resume: () => resumeSending(state, at),
          }[word]?.();
          events.push(...(decision?.events ?? []));
        });
        const types = events.map(({ type }) => type);
        expect(types.some((type, nth) => nth > 0 && type === types[nth - 1])).toBe(false);
      }),
    );
  });
});

test("percentages are rounded down", () => {
  expect(percentText({ reported: 4_999, sent: 100_000 })).toBe("4.99 %");
  expect(percentText({ reported: 1, sent: 1_000 })).toBe("0.1 %");
  expect(percentText({ reported: 7, sent: 100 })).toBe("7 %");
  expect(RATE_MESSAGES_MIN).toEqual({ bounce: 100, complaint: 1_000 });
});
