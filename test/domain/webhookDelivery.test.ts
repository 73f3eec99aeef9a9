import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { webhookDeliveryAggregate } from "../../src/commands/aggregateDefinitions.ts";
import {
  classifyWebhookOutcome,
  type WebhookAttemptResult,
} from "../../src/domain/webhookDelivery/classifyWebhookOutcome.ts";
import {
  expireAttempt,
  recordAttempt,
  requestRecovery,
  requestRedelivery,
  skipDelivery,
  startAttempt,
} from "../../src/domain/webhookDelivery/decisions.ts";
import type { DeliveryOrigin, WebhookDeliveryEvent } from "../../src/domain/webhookDelivery/events.ts";
import { WEBHOOK_POLICY } from "../../src/domain/webhookDelivery/retrySchedule.ts";
import { LEASE_EXPIRED, type WebhookDeliveryState } from "../../src/domain/webhookDelivery/state.ts";
import type { WebhookOutcome } from "../../src/kernel/outcome/webhookOutcome.ts";
import { foldOf, givenWhenThen } from "../support/givenWhenThen.ts";

const given = givenWhenThen(webhookDeliveryAggregate);
const NOW = Date.parse("2030-01-01T00:00:00Z");
const at = (ms: number) => new Date(NOW + ms).toISOString();

const origin: DeliveryOrigin = {
  workspaceId: "w",
  endpointId: "e",
  eventId: "event",
  eventStream: "email-1",
  eventRevision: 1,
  eventType: "email.queued",
};
const request = { origin, worker: "worker", leaseMs: 30_000 };
const started = (attempt: number): WebhookDeliveryEvent => ({
  type: "WebhookAttemptStarted",
  data: { ...request, attempt },
});
const failed = (attempt: number, nextAttemptAt?: string): WebhookDeliveryEvent => ({
  type: "WebhookAttemptFailed",
  data: {
    attempt,
    durationMs: 5,
    reason: "status",
    attemptBurnt: true,
    ...(nextAttemptAt === undefined ? {} : { nextAttemptAt }),
  },
});
const delivered = (attempt: number): WebhookDeliveryEvent => ({
  type: "WebhookDelivered",
  data: { attempt, durationMs: 5 },
});
const expired = (attempt: number): WebhookDeliveryEvent => ({
  type: "WebhookAttemptFailed",
  data: {
    attempt,
    durationMs: 30_000,
    reason: LEASE_EXPIRED,
    attemptBurnt: true,
    nextAttemptAt: at(5_000),
  },
});
const exhausted: WebhookDeliveryEvent = { type: "WebhookDeliveryExhausted", data: { reason: "status" } };
const FAILED: WebhookAttemptResult = { kind: "failed", reason: "status", retryAfterMs: null };
const context = (random = 0) => ({
  policy: WEBHOOK_POLICY,
  input: { now: NOW, random },
  facts: { durationMs: 5 },
});

describe("a delivery", () => {
  test("is claimed once", () => {
    given()
      .when((state) => startAttempt(state, request, NOW))
      .then(1, started(1))
      .again(null);
  });

  test("is claimed again after a failure", () => {
    given(started(1), failed(1, at(0)))
      .when((state) => startAttempt(state, request, NOW))
      .then(2, started(2));
  });

  test("is not claimed before its time, even if a stale read model lists it", () => {
    given(started(1), failed(1, at(5_000)))
      .when((state) => startAttempt(state, request, NOW + 4_999))
      .then(null);
    given(started(1), failed(1, at(5_000)))
      .when((state) => startAttempt(state, request, NOW + 5_000))
      .then(2, started(2));
  });

  test("ends with a 2xx answer, which is recorded once", () => {
    given(started(1))
      .when((state) => recordAttempt(state, 1, { kind: "delivered" }, context()))
      .then("recorded", delivered(1))
      .again("notClaimed");
  });

  test("waits as long as the schedule says, and up to a tenth longer", () => {
    given(started(1))
      .when((state) => recordAttempt(state, 1, FAILED, context()))
      .then("recorded", failed(1, at(5_000)))
      .again("notClaimed");
    given(started(1))
      .when((state) => recordAttempt(state, 1, FAILED, context(0.5)))
      .then("recorded", failed(1, at(5_250)));
  });

  test.each([
    [1_000, 5_000],
    [7_000, 7_000],
    [3_600_000, 10_000],
  ])("waits a Retry-After of %d ms for %d ms", (retryAfterMs, expectedMs) => {
    given(started(1))
      .when((state) => recordAttempt(state, 1, { ...FAILED, retryAfterMs }, context()))
      .then("recorded", failed(1, at(expectedMs)));
  });

  test("is exhausted after its last attempt", () => {
    const attempts = WEBHOOK_POLICY.scheduleMs.length;
    const before = Array.from({ length: attempts - 1 }, (_, index) => [
      started(index + 1),
      failed(index + 1, at(0)),
    ]).flat();
    given(...before, started(attempts))
      .when((state) => recordAttempt(state, attempts, FAILED, context()))
      .then("recorded", failed(attempts), exhausted)
      .again("notClaimed");
  });

  test("ends at once when the endpoint is gone", () => {
    given(started(1))
      .when((state) => recordAttempt(state, 1, { kind: "gone", reason: "status" }, context()))
      .then("recorded", failed(1), { type: "WebhookDeliveryExhausted", data: { reason: "gone" } });
  });

  test("burns no attempt if the fault is ours", () => {
    given(started(1))
      .when((state) => recordAttempt(state, 1, { kind: "ours", reason: "stopping" }, context()))
      .then("recorded", {
        type: "WebhookAttemptFailed",
        data: {
          attempt: 1,
          durationMs: 5,
          reason: "stopping",
          attemptBurnt: false,
          nextAttemptAt: at(WEBHOOK_POLICY.ownFaultRetryMs),
        },
      });
  });

  test("whose lease expired waits for its next attempt, and may still record its own outcome", () => {
    given(started(1))
      .when((state) => expireAttempt(state, 1, context()))
      .then("expired", expired(1))
      .again("notClaimed");
    given(started(1), expired(1))
      .when((state) => recordAttempt(state, 1, { kind: "delivered" }, context()))
      .then("recorded", delivered(1));
    given(started(1), expired(1), started(2))
      .when((state) => recordAttempt(state, 1, FAILED, context()))
      .then("recorded", failed(1));
  });

  test("is not over when an earlier attempt reports late that the endpoint is gone", () => {
    given(started(1), expired(1), started(2))
      .when((state) => recordAttempt(state, 1, { kind: "gone", reason: "status" }, context()))
      .then("recorded", failed(1));
  });

  test("is not exhausted by a late failure while its last attempt is under way", () => {
    const attempts = WEBHOOK_POLICY.scheduleMs.length;
    const before = Array.from({ length: attempts - 1 }, (_, index) => [
      started(index + 1),
      expired(index + 1),
    ]).flat();
    given(...before, started(attempts))
      .when((state) => recordAttempt(state, attempts - 1, FAILED, context()))
      .then("recorded", failed(attempts - 1));
  });

  test("is delivered after all if an attempt whose lease expired reports its success once it was exhausted", () => {
    const past = [started(1), expired(1), started(2), failed(2), exhausted] as const;
    given(...past)
      .when((state) => recordAttempt(state, 1, { kind: "delivered" }, context()))
      .then("recorded", delivered(1))
      .again("notClaimed");
    const folded = foldOf(webhookDeliveryAggregate, [...past, delivered(1)]);
    expect(folded).toMatchObject({ status: "delivered", claim: null });
  });

  test("records no attempt that was never claimed", () => {
    given(started(1))
      .when((state) => recordAttempt(state, 2, { kind: "delivered" }, context()))
      .then("notClaimed");
  });

  test("is skipped once, while it waits", () => {
    given()
      .when((state) => skipDelivery(state, origin, "endpoint_deleted"))
      .then("skipped", { type: "WebhookDeliverySkipped", data: { origin, reason: "endpoint_deleted" } })
      .again("notPending");
    given(started(1))
      .when((state) => skipDelivery(state, origin, "endpoint_disabled"))
      .then("notPending");
  });

  test("can be requested again once it has ended or while it waits, and its schedule restarts", () => {
    const requested: WebhookDeliveryEvent = {
      type: "WebhookRedeliveryRequested",
      data: { origin, at: at(0) },
    };
    for (const past of [
      [started(1), delivered(1)],
      [started(1), failed(1, at(60_000))],
    ]) {
      given(...past)
        .when((state) => requestRedelivery(state, { origin, isMissed: false }, NOW))
        .then("requested", requested)
        .again("underWay");
    }
    given(started(1))
      .when((state) => requestRedelivery(state, { origin, isMissed: false }, NOW))
      .then("underWay");
    given(started(1), failed(1, at(60_000)), requested, started(2))
      .when((state) => recordAttempt(state, 2, FAILED, context()))
      .then("recorded", failed(2, at(5_000)));
  });
});

describe("a delivery that was missed", () => {
  const missed = { origin, isMissed: true };
  const requested: WebhookDeliveryEvent = { type: "WebhookRedeliveryRequested", data: { origin, at: at(0) } };

  test("is requested once; one that was not missed is already in flight", () => {
    given()
      .when((state) => requestRedelivery(state, missed, NOW))
      .then("requested", requested)
      .again("underWay");
    given()
      .when((state) => requestRedelivery(state, { ...missed, isMissed: false }, NOW))
      .then("underWay");
    given(requested, started(1), delivered(1))
      .when((state) => requestRedelivery(state, missed, NOW))
      .then("requested", requested);
  });

  test("is recovered once by two requests of which the first to begin is decided last", () => {
    for (const [ms, outcome] of [
      [1, "underWay"],
      [15_001, "requested"],
    ] as const) {
      const later: WebhookDeliveryEvent = { ...requested, data: { origin, at: at(ms) } };
      const events = outcome === "requested" ? [requested] : [];
      given(later)
        .when((state) => requestRecovery(state, missed, NOW))
        .then(outcome, ...events);
    }
  });

  test("is recovered once: a request with a stale list does not repeat it", () => {
    given()
      .when((state) => requestRecovery(state, missed, NOW))
      .then("requested", requested)
      .again("underWay");
    given(requested, started(1), delivered(1))
      .when((state) => requestRecovery(state, missed, NOW))
      .then("delivered");
  });
});

describe("an answer", () => {
  const answered = (statusCode: number, retryAfterSeconds: number | null = null): WebhookOutcome => {
    return { kind: "answered", statusCode, retryAfterSeconds, durationMs: 5, body: "" };
  };

  test.each([
    [answered(200), { kind: "delivered" }],
    [answered(204), { kind: "delivered" }],
    [answered(301), { kind: "failed", reason: "redirected", retryAfterMs: null }],
    [answered(400, 9), { kind: "failed", reason: "status", retryAfterMs: null }],
    [answered(410), { kind: "gone", reason: "status" }],
    [answered(429, 9), { kind: "failed", reason: "status", retryAfterMs: 9_000 }],
    [answered(503, 9), { kind: "failed", reason: "status", retryAfterMs: 9_000 }],
    [answered(500, 9), { kind: "failed", reason: "status", retryAfterMs: null }],
    [answered(100), { kind: "failed", reason: "status", retryAfterMs: null }],
    [
      { kind: "failed", reason: "tls", durationMs: 1 },
      { kind: "failed", reason: "tls", retryAfterMs: null },
    ],
    [
      { kind: "failed", reason: "interrupted", durationMs: 1 },
      { kind: "ours", reason: "interrupted" },
    ],
    [
      { kind: "notSent", reason: "stopping", durationMs: 1 },
      { kind: "ours", reason: "stopping" },
    ],
  ] as const satisfies readonly (readonly [WebhookOutcome, WebhookAttemptResult])[])(
    "%j means %j",
    (outcome, result) => {
      expect(classifyWebhookOutcome(outcome)).toEqual(result);
    },
  );
});

describe("whatever happens to a delivery (properties)", () => {
  const { evolve } = webhookDeliveryAggregate.decider;
  const step = fc.oneof(
    fc.constant("start" as const),
    fc.constant("deliver" as const),
    fc.constant("fail" as const),
    fc.constant("late" as const),
    fc.constant("expire" as const),
    fc.constant("again" as const),
    fc.constant("skip" as const),
  );

  function decide(state: WebhookDeliveryState, name: string, attempt: number) {
    switch (name) {
      case "start":
        return startAttempt(state, request, NOW).events;
      case "deliver":
        return recordAttempt(state, attempt, { kind: "delivered" }, context()).events;
      case "fail":
        return recordAttempt(state, attempt, FAILED, context()).events;
      case "late":
        return recordAttempt(state, Math.max(1, attempt - 1), FAILED, context()).events;
      case "expire":
        return expireAttempt(state, attempt, context()).events;
      case "again":
        return requestRedelivery(state, { origin, isMissed: false }, NOW).events;
      default:
        return skipDelivery(state, origin, "endpoint_deleted").events;
    }
  }

  test("each attempt is claimed and settled at most once, and a series ends within its schedule", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        let state: WebhookDeliveryState = null;
        const events: WebhookDeliveryEvent[] = [];
        for (const name of steps) {
          const newEvents: readonly WebhookDeliveryEvent[] = decide(state, name, state?.attempts ?? 0);
          events.push(...newEvents);
          state = newEvents.reduce(evolve, state);
          expect(state?.countedAttempts ?? 0).toBeLessThanOrEqual(WEBHOOK_POLICY.scheduleMs.length);
          if (state?.status === "attempting") expect(state.claim).not.toBeNull();
        }
        const starts = events.flatMap(({ type, data }) =>
          type === "WebhookAttemptStarted" ? [data.attempt] : [],
        );
        expect(starts).toEqual(starts.map((_, index) => index + 1));
        const ended = events.flatMap(({ type, data }) =>
          type === "WebhookDelivered" || (type === "WebhookAttemptFailed" && data.reason !== LEASE_EXPIRED)
            ? [data.attempt]
            : [],
        );
        expect(new Set(ended).size).toBe(ended.length);
      }),
    );
  });
});
