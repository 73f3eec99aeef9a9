import type { Decision } from "../../kernel/event/decider.ts";
import { type EpochMs, HOUR_MS, MINUTE_MS, rfc3339, SECOND_MS } from "../../kernel/time.ts";
import type { WebhookVerdict } from "./classifyWebhookOutcome.ts";
import type { DeliveryOrigin, WebhookDeliveryEvent } from "./events.ts";
import { LEASE_EXPIRED, type WebhookDeliveryState } from "./state.ts";

/** How webhooks are tried. Times in ms. */
export interface WebhookPolicy {
  /** How long a worker may take with an attempt; it outlasts every bound on a call. */
  readonly leaseMs: number;
  /** The wait before each attempt, the first included (Standard Webhooks' schedule). */
  readonly scheduleMs: readonly number[];
  /** The wait after a fault of our own. */
  readonly ownFaultRetryMs: number;
}

export const WEBHOOK_POLICY: WebhookPolicy = {
  leaseMs: 30 * SECOND_MS,
  scheduleMs: [
    0,
    5 * SECOND_MS,
    5 * MINUTE_MS,
    30 * MINUTE_MS,
    2 * HOUR_MS,
    5 * HOUR_MS,
    10 * HOUR_MS,
    14 * HOUR_MS,
    20 * HOUR_MS,
    24 * HOUR_MS,
  ],
  ownFaultRetryMs: 10 * SECOND_MS,
};

/** A wait grows by at most this part of itself, by luck, so that what failed together does not come back together. */
const JITTER_MAX = 0.1;
/** An endpoint's Retry-After holds up to this many times the wait that it would have been anyway. */
const RETRY_AFTER_FACTOR_MAX = 2;

export interface Moment {
  readonly now: EpochMs;
  /** In [0, 1). */
  readonly random: number;
}

export interface AttemptRequest {
  readonly origin: DeliveryOrigin;
  readonly worker: string;
  readonly leaseMs: number;
}

/** Claims a delivery. The outcome is the attempt's number; null when it is not waiting, or not until later. */
export function startAttempt(
  state: WebhookDeliveryState,
  request: AttemptRequest,
  now: EpochMs,
): Decision<number | null, WebhookDeliveryEvent> {
  const isDue = state === null || (state.status === "pending" && state.nextAttemptAt <= now);
  if (!isDue) return { outcome: null, events: [] };
  const attempt = (state?.attempts ?? 0) + 1;
  return { outcome: attempt, events: [{ type: "WebhookAttemptStarted", data: { ...request, attempt } }] };
}

/** What an endpoint said, for the record. */
export interface AttemptFacts {
  readonly durationMs: number;
  readonly statusCode?: number;
  readonly excerpt?: string;
  readonly sealedExcerpt?: string;
}

/** The wait before the next attempt when `burnt` have counted; null after the last one. */
function waitMs(policy: WebhookPolicy, burnt: number, random: number, retryAfterMs: number | null) {
  const baseMs = policy.scheduleMs[burnt];
  if (baseMs === undefined) return null;
  const heededMs = Math.min(Math.max(retryAfterMs ?? 0, baseMs), baseMs * RETRY_AFTER_FACTOR_MAX);
  return Math.round(heededMs * (1 + JITTER_MAX * random));
}

type Claimed = NonNullable<WebhookDeliveryState>;

/** The events of an attempt that failed: it waits for the next one, or was the last. */
function failure(
  state: Claimed,
  facts: AttemptFacts & { readonly attempt: number; readonly reason: string },
  on: { readonly policy: WebhookPolicy; readonly moment: Moment; readonly retryAfterMs: number | null },
): readonly WebhookDeliveryEvent[] {
  const { policy, moment, retryAfterMs } = on;
  const wait = waitMs(policy, state.attemptsBurnt + 1, moment.random, retryAfterMs);
  const data = { ...facts, attemptBurnt: true };
  if (wait === null || state.claim?.attempt !== facts.attempt) {
    const failed: WebhookDeliveryEvent = { type: "WebhookAttemptFailed", data };
    const isLast = wait === null && state.claim?.attempt === facts.attempt;
    return isLast ? [failed, { type: "WebhookDeliveryExhausted", data: { reason: facts.reason } }] : [failed];
  }
  const nextAttemptAt = rfc3339(moment.now + wait);
  return [{ type: "WebhookAttemptFailed", data: { ...data, nextAttemptAt } }];
}

interface Recording {
  readonly policy: WebhookPolicy;
  readonly moment: Moment;
  readonly facts: AttemptFacts;
}

/** Records what became of an attempt, once; also late, when its lease has run out meanwhile. */
export function recordAttempt(
  state: WebhookDeliveryState,
  attempt: number,
  verdict: WebhookVerdict,
  { policy, moment, facts }: Recording,
): Decision<"recorded" | "notClaimed", WebhookDeliveryEvent> {
  if (state === null || attempt > state.attempts || state.settledAttempts.includes(attempt)) {
    return { outcome: "notClaimed", events: [] };
  }
  const recorded = (events: readonly WebhookDeliveryEvent[]) => ({ outcome: "recorded" as const, events });
  switch (verdict.kind) {
    case "delivered":
      return recorded([{ type: "WebhookDelivered", data: { attempt, ...facts } }]);
    case "gone": {
      const data = { attempt, ...facts, reason: verdict.reason, attemptBurnt: true };
      const failed: WebhookDeliveryEvent = { type: "WebhookAttemptFailed", data };
      const isOver = state.claim?.attempt === attempt;
      return recorded(
        isOver ? [failed, { type: "WebhookDeliveryExhausted", data: { reason: "gone" } }] : [failed],
      );
    }
    case "ours": {
      const nextAttemptAt = rfc3339(moment.now + policy.ownFaultRetryMs);
      const data = { attempt, ...facts, reason: verdict.reason, attemptBurnt: false, nextAttemptAt };
      return recorded([{ type: "WebhookAttemptFailed", data }]);
    }
    default: {
      const { reason, retryAfterMs } = verdict;
      return recorded(failure(state, { attempt, ...facts, reason }, { policy, moment, retryAfterMs }));
    }
  }
}

/** Ends a claim whose worker was not heard of again: the endpoint may have been called. */
export function expireAttempt(
  state: WebhookDeliveryState,
  attempt: number,
  on: Omit<Recording, "facts">,
): Decision<"expired" | "notClaimed", WebhookDeliveryEvent> {
  if (state?.claim?.attempt !== attempt) return { outcome: "notClaimed", events: [] };
  const facts = { attempt, durationMs: state.claim.leaseMs, reason: LEASE_EXPIRED };
  return { outcome: "expired", events: failure(state, facts, { ...on, retryAfterMs: null }) };
}

/** Ends a delivery that nobody wants any more: its endpoint was deleted or disabled. */
export function skipDelivery(
  state: WebhookDeliveryState,
  origin: DeliveryOrigin,
  reason: "endpoint_deleted" | "endpoint_disabled",
): Decision<"skipped" | "notPending", WebhookDeliveryEvent> {
  if (state !== null && state.status !== "pending") return { outcome: "notPending", events: [] };
  return {
    outcome: "skipped",
    events: [{ type: "WebhookDeliverySkipped", data: { origin, reason } }],
  };
}

/** A delivery that somebody asks for once more. */
export interface RedeliveryRequest {
  readonly origin: DeliveryOrigin;
  /** Whether its endpoint was disabled when it happened, so that nobody began to deliver it. */
  readonly isMissed: boolean;
}

/** Sends it again, whatever became of it; the schedule begins anew. What waits or is under way is left alone. */
export function requestRedelivery(
  state: WebhookDeliveryState,
  { origin, isMissed }: RedeliveryRequest,
  now: EpochMs,
): Decision<"requested" | "underWay", WebhookDeliveryEvent> {
  const isUnderWay =
    state === null
      ? !isMissed
      : state.status === "attempting" || (state.status === "pending" && state.nextAttemptAt <= now);
  if (isUnderWay) return { outcome: "underWay", events: [] };
  const data = { origin, at: rfc3339(now) };
  return { outcome: "requested", events: [{ type: "WebhookRedeliveryRequested", data }] };
}
