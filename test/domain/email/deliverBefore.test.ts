import { describe, expect, test } from "bun:test";
import { emailAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import {
  cancel,
  expire,
  expireLease,
  recordOutcome,
  startDelivery,
} from "../../../src/domain/email/decisions.ts";
import { deadlineFault } from "../../../src/domain/email/delivery/deliverBefore.ts";
import { DELIVERY_POLICY } from "../../../src/domain/email/delivery/deliveryPolicy.ts";
import type { EmailEvent } from "../../../src/domain/email/events.ts";
import { reschedule } from "../../../src/domain/email/scheduledTime.ts";
import { HOUR_MS, MINUTE_MS, rfc3339, SECOND_MS } from "../../../src/kernel/time.ts";
import { ACCEPTED_AT, acceptance } from "../../support/emailHistories.ts";
import { givenWhenThen } from "../../support/givenWhenThen.ts";

const given = givenWhenThen(emailAggregate);
const policy = DELIVERY_POLICY;
const DEADLINE = ACCEPTED_AT + 10 * MINUTE_MS;
const withDeadline = acceptance({ deadlineInMs: 10 * MINUTE_MS });
const scheduled = acceptance({ as: "scheduled", dueInMs: 5 * MINUTE_MS, deadlineInMs: 10 * MINUTE_MS });
const keptUntilEnd = acceptance({ isErasedAtEnd: true });
const request = { worker: "w", transport: "smtp", leaseMs: policy.leaseMs };
const started: EmailEvent = { type: "EmailDeliveryStarted", data: { attempt: 1, ...request } };
const erased: EmailEvent = { type: "EmailContentErased", data: { reason: "final_status" } };
const expired = (attempt: number): EmailEvent => {
  return { type: "EmailFailed", data: { attempt, reason: "expired" } };
};
const at = (now: number) => ({ now, random: 0, pausedMs: 0 });
const recordingAt = (now: number) => ({ policy, input: at(now), transport: "smtp" });

describe("a deadline", () => {
  const NOW = ACCEPTED_AT;
  test.each([
    ["ten minutes from now", NOW + 10 * MINUTE_MS, undefined, null],
    ["a moment from now", NOW + 1, undefined, null],
    ["now", NOW, undefined, /^must be in the future: the service's clock says 2030-01-01T00:00:00\.000Z$/],
    ["72 hours from now", NOW + 72 * HOUR_MS, undefined, null],
    ["a moment later", NOW + 72 * HOUR_MS + 1, undefined, /^must be at most 72 hours after the request$/],
    ["72 hours after the scheduled time", NOW + 73 * HOUR_MS, NOW + HOUR_MS, null],
    [
      "a moment later than that",
      NOW + 73 * HOUR_MS + 1,
      NOW + HOUR_MS,
      /at most 72 hours after scheduled_at$/,
    ],
    ["the scheduled time", NOW + HOUR_MS, NOW + HOUR_MS, /^must be after scheduled_at$/],
    ["a time before that", NOW + MINUTE_MS, NOW + HOUR_MS, /^must be after scheduled_at$/],
    ["one after a scheduled time that is over", NOW + MINUTE_MS, NOW - MINUTE_MS, null],
    ["one too long after such a time", NOW + 72 * HOUR_MS + 1, NOW - HOUR_MS, /72 hours after the request$/],
  ] as const)("%s", (_, deliverBefore, scheduledAt, fault) => {
    const found = deadlineFault(deliverBefore, scheduledAt, NOW);
    if (fault === null) expect(found).toBeNull();
    else expect(found).toMatch(fault);
  });
});

describe("a message with a deadline", () => {
  test("is claimed before it, and not from then on", () => {
    given(...withDeadline)
      .when((state) => startDelivery(state, request, DEADLINE - 1))
      .then(1, started);
    given(...withDeadline)
      .when((state) => startDelivery(state, request, DEADLINE))
      .then(null);
  });

  test("fails as expired once it has come, and not before", () => {
    given(...withDeadline)
      .when((state) => expire(state, policy, at(DEADLINE - 1)))
      .then("notDue");
    given(...withDeadline)
      .when((state) => expire(state, policy, at(DEADLINE)))
      .then("expired", expired(0))
      .again("notDue");
  });

  test("fails then even if sending was paused all the time", () => {
    given(...withDeadline)
      .when((state) => expire(state, policy, { ...at(DEADLINE), pausedMs: 10 * MINUTE_MS }))
      .then("expired", expired(0));
  });

  test("that is claimed when it comes may end as the attempt does", () => {
    given(...withDeadline, started)
      .when((state) => expire(state, policy, at(DEADLINE)))
      .then("notDue");
    given(...withDeadline, started)
      .when((state) => recordOutcome(state, 1, { kind: "sent", codes: "250" }, recordingAt(DEADLINE + 1)))
      .then("recorded", { type: "EmailSent", data: { attempt: 1, transport: "smtp", reply: "250" } });
  });

  test("is not retried later than that: neither after a refusal for now, nor when a lease ends", () => {
    const nextAttemptAt = rfc3339(DEADLINE);
    const refusal = { reason: "greylisted", attemptBurnt: true, ambiguous: false };
    given(...withDeadline, started)
      .when((state) =>
        recordOutcome(
          state,
          1,
          { kind: "deferred", ...refusal, relayFault: false },
          recordingAt(DEADLINE - 30 * SECOND_MS),
        ),
      )
      .then("recorded", { type: "EmailDeferred", data: { attempt: 1, ...refusal, nextAttemptAt } });
    const lost = { reason: "lease_expired", attemptBurnt: true, ambiguous: true };
    given(...withDeadline, started)
      .when((state) => expireLease(state, 1, policy, at(DEADLINE + 1)))
      .then("expired", { type: "EmailDeferred", data: { attempt: 1, ...lost, nextAttemptAt } });
  });

  test("is moved to a time before it, and to no other", () => {
    given(...scheduled)
      .when((state) => reschedule(state, DEADLINE - 1, ACCEPTED_AT))
      .then("rescheduled", { type: "EmailRescheduled", data: { scheduledAt: rfc3339(DEADLINE - 1) } });
    given(...scheduled)
      .when((state) => reschedule(state, DEADLINE, ACCEPTED_AT))
      .then("pastDeadline");
    given(...scheduled, started)
      .when((state) => reschedule(state, DEADLINE, ACCEPTED_AT))
      .then("notScheduled");
  });
});

describe("content that is kept until the end alone", () => {
  const NOW = ACCEPTED_AT + MINUTE_MS;

  test("is erased in the append that ends the message", () => {
    given(...keptUntilEnd)
      .when(cancel)
      .then("canceled", { type: "EmailCanceled", data: {} }, erased)
      .again("alreadyCanceled");
    given(...keptUntilEnd)
      .when((state) => expire(state, policy, at(ACCEPTED_AT + policy.lifetimeMs)))
      .then("expired", expired(0), erased)
      .again("notDue");
    const sent: EmailEvent = { type: "EmailSent", data: { attempt: 1, transport: "smtp", reply: "250" } };
    given(...keptUntilEnd, started)
      .when((state) => recordOutcome(state, 1, { kind: "sent", codes: "250" }, recordingAt(NOW)))
      .then("recorded", sent, erased)
      .again("alreadyRecorded");
  });

  test("stays while the message can still be sent", () => {
    const refusal = { reason: "greylisted", attemptBurnt: true, ambiguous: false };
    given(...keptUntilEnd, started)
      .when((state) =>
        recordOutcome(state, 1, { kind: "deferred", ...refusal, relayFault: false }, recordingAt(NOW)),
      )
      .then("recorded", {
        type: "EmailDeferred",
        data: { attempt: 1, ...refusal, nextAttemptAt: rfc3339(NOW + MINUTE_MS) },
      });
  });

  test("is erased for the reason of a request that came first", () => {
    const requested: EmailEvent = { type: "EmailContentErasureRequested", data: { reason: "requested" } };
    given(...keptUntilEnd, started, requested)
      .when((state) => recordOutcome(state, 1, { kind: "sent", codes: "250" }, recordingAt(NOW)))
      .then(
        "recorded",
        { type: "EmailSent", data: { attempt: 1, transport: "smtp", reply: "250" } },
        { type: "EmailContentErased", data: { reason: "requested" } },
      );
  });
});
