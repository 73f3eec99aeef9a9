import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { DELIVERY_POLICY } from "../../../src/domain/email/delivery/deliveryPolicy.ts";
import { nextDeliveryAction } from "../../../src/domain/email/delivery/nextDeliveryAction.ts";
import type { EmailEvent } from "../../../src/domain/email/events.ts";
import { type Email, emailDecider, isTerminal } from "../../../src/domain/email/state.ts";
import { type WaitingFacts, waitingOf } from "../../../src/domain/email/waitingReason.ts";
import { DAY_MS, HOUR_MS, rfc3339 } from "../../../src/kernel/time.ts";
import { play, stepsArbitrary } from "../../support/emailHistories.ts";

const NOW = Date.parse("2030-01-01T12:00:00Z");
const LATER = NOW + 60_000;
const EXPIRY = NOW + 3_600_000;

const noReason: WaitingFacts = {
  now: NOW,
  policy: DELIVERY_POLICY,
  isHeld: false,
  isPaused: false,
  pauseReason: null,
  mayLeave: true,
  delivers: true,
  hasRoom: true,
  leaseUntil: null,
  expiresAt: EXPIRY,
  lastDeferral: null,
  relay: null,
  contentStore: null,
};
const down = { trouble: "login_refused", nextTryAt: LATER } as const;

const queued = {
  type: "EmailQueued",
  data: {
    workspaceId: "w",
    senderId: "s",
    recipientHash: "r",
    fingerprint: "f",
    acceptedAt: rfc3339(NOW - 1_000),
    contentEventId: "c",
  },
} as unknown as EmailEvent;
const claimed: EmailEvent = {
  type: "EmailDeliveryStarted",
  data: { attempt: 1, worker: "w", transport: "smtp", leaseMs: 1_000 },
};
const deferred = (until: number, ambiguous = false): EmailEvent => ({
  type: "EmailDeferred",
  data: {
    attempt: 1,
    reason: "recipient_deferred",
    ambiguous,
    attemptBurnt: true,
    nextAttemptAt: rfc3339(until),
  },
});

function given(...events: readonly EmailEvent[]): Email {
  const state = events.reduce(emailDecider.evolve, emailDecider.initialState);
  if (state === null) throw new Error("the message was never accepted");
  return state;
}

describe("a message waits", () => {
  test.each([
    ["in the queue, when nothing is in its way", [queued], {}, "in_queue", null],
    [
      "for its worker, until the lease ends",
      [queued, claimed],
      { leaseUntil: LATER },
      "being_delivered",
      LATER,
    ],
    ["for its next attempt", [queued, claimed, deferred(LATER)], {}, "retry_scheduled", LATER],
    [
      "for the relay, once it is due again",
      [queued, claimed, deferred(NOW)],
      { relay: down },
      "relay_unavailable",
      LATER,
    ],
    [
      "for nothing, when a clock that was ahead has put it off for longer than any retry waits",
      [queued, claimed, deferred(NOW + 30 * DAY_MS)],
      {},
      "in_queue",
      null,
    ],
    [
      "for nothing, when it was accepted by a clock that was ahead",
      [queued],
      { now: NOW - HOUR_MS },
      "in_queue",
      null,
    ],
    ["for the relay, never tried", [queued], { relay: down }, "relay_unavailable", LATER],
    [
      "for the end of a pause, whatever the relay does",
      [queued],
      { isPaused: true, relay: down },
      "sending_paused",
      null,
    ],
    ["for its sender", [queued], { mayLeave: false }, "sender_unavailable", null],
    [
      "for the operator, since the log was restored",
      [queued],
      { isHeld: true, isPaused: true },
      "held_after_restore",
      null,
    ],
    [
      "for the operator, when the relay may have it",
      [queued, claimed, deferred(NOW, true)],
      { policy: { ...DELIVERY_POLICY, onAmbiguous: "hold" } },
      "delivery_unknown",
      EXPIRY,
    ],
    ["for another instance, where none delivers", [queued], { delivers: false }, "delivery_off", null],
    ["for room on the disk", [queued], { hasRoom: false }, "disk_full", null],
  ] as const)("%s", (_name, events, facts, ...[reason, until]) => {
    const waiting = waitingOf(given(...events), { ...noReason, ...facts });
    expect(waiting).toMatchObject({ reason, until });
  });

  test("and a pause is explained if the service itself has paused the workspace", () => {
    const because = (pauseReason: string | null) =>
      waitingOf(given(queued), { ...noReason, isPaused: true, pauseReason })?.detail;
    expect(because(null)).toBe("Sending is paused for the workspace.");
    expect(because("Its rate was high.")).toBe("Sending is paused for the workspace. Its rate was high.");
  });

  test("and the relay's trouble is named without saying where the relay is", () => {
    expect(waitingOf(given(queued), { ...noReason, relay: down })?.detail).toBe(
      "The relay refuses the service's log-in, or wants one.",
    );
  });

  test("for its next attempt, or its time, exactly while delivery would not begin", () => {
    fc.assert(
      fc.property(stepsArbitrary, fc.integer({ min: -40, max: 40 }), (steps, hours) => {
        const { state, now: last } = play(steps, DELIVERY_POLICY);
        if (state === null || state.claim !== null || isTerminal(state.status)) return;
        const now = last + hours * HOUR_MS;
        const input = { now, jumpProofNow: last, random: 0, pausedMs: 30 * DAY_MS };
        const { kind } = nextDeliveryAction(state, input, DELIVERY_POLICY);
        const reason = waitingOf(state, { ...noReason, now })?.reason;
        expect(["scheduled", "retry_scheduled"].includes(reason ?? "")).toBe(kind === "wait");
      }),
    );
  });

  test("for some reason as long as it has not ended, whatever has happened to it", () => {
    fc.assert(
      fc.property(stepsArbitrary, (steps) => {
        const { state } = play(steps, DELIVERY_POLICY);
        if (state === null) return;
        expect(waitingOf(state, noReason) === null).toBe(isTerminal(state.status));
      }),
    );
  });
});
