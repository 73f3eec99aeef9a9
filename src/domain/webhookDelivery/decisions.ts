import { type Decision, decided } from "../../kernel/event/decider.ts";
import { type EpochMs, rfc3339, SECOND_MS } from "../../kernel/time.ts";
import type { WebhookAttemptResult } from "./classifyWebhookOutcome.ts";
import type { DeliveryOrigin, WebhookDeliveryEvent } from "./events.ts";
import { type DecisionInput, retryDelayMs, type WebhookPolicy } from "./retrySchedule.ts";
import { LEASE_EXPIRED, type WebhookDeliveryState } from "./state.ts";

/** How often callers may request one delivery again in a day: each request reads all of its attempts. */
export const REDELIVERIES_PER_DAY_MAX = 20;

export interface AttemptRequest {
  readonly origin: DeliveryOrigin;
  readonly worker: string;
  readonly leaseMs: number;
}

/** Claims a delivery. The outcome is the number of the attempt; null if the delivery is not due. */
export function startAttempt(
  state: WebhookDeliveryState,
  request: AttemptRequest,
  now: EpochMs,
): Decision<number | null, WebhookDeliveryEvent> {
  const isDue = state === null || (state.status === "pending" && state.nextAttemptAt <= now);
  if (!isDue) return decided(null);
  const attempt = (state?.attempts ?? 0) + 1;
  return decided(attempt, { type: "WebhookAttemptStarted", data: { ...request, attempt } });
}

/** What is recorded about an answer. */
export interface AttemptFacts {
  readonly durationMs: number;
  readonly statusCode?: number;
  readonly excerpt?: string;
  readonly sealedExcerpt?: string;
}

type Claimed = NonNullable<WebhookDeliveryState>;

/** The events of a failed attempt: the delivery waits for the next one, or this was the last. */
function failure(
  state: Claimed,
  facts: AttemptFacts & { readonly attempt: number; readonly reason: string },
  {
    policy,
    input,
    retryAfterMs,
  }: Omit<Recording, "facts"> & {
    readonly retryAfterMs: number | null;
  },
): readonly WebhookDeliveryEvent[] {
  const wait = retryDelayMs(policy, state.countedAttempts + 1, input.random, retryAfterMs);
  const data = { ...facts, attemptBurnt: true };
  if (wait === null || state.claim?.attempt !== facts.attempt) {
    const failed: WebhookDeliveryEvent = { type: "WebhookAttemptFailed", data };
    const isLast = wait === null && state.claim?.attempt === facts.attempt;
    return isLast ? [failed, { type: "WebhookDeliveryExhausted", data: { reason: facts.reason } }] : [failed];
  }
  const nextAttemptAt = rfc3339(input.now + wait);
  return [{ type: "WebhookAttemptFailed", data: { ...data, nextAttemptAt } }];
}

interface Recording {
  readonly policy: WebhookPolicy;
  readonly input: DecisionInput;
  readonly facts: AttemptFacts;
}

/** Records the outcome of an attempt, even if its lease has expired meanwhile. A repeat gives no events. */
export function recordAttempt(
  state: WebhookDeliveryState,
  attempt: number,
  result: WebhookAttemptResult,
  { policy, input, facts }: Recording,
): Decision<"recorded" | "notClaimed", WebhookDeliveryEvent> {
  if (state === null || attempt > state.attempts || state.settledAttempts.includes(attempt)) {
    return decided("notClaimed");
  }
  const recorded = (events: readonly WebhookDeliveryEvent[]) => ({ outcome: "recorded" as const, events });
  switch (result.kind) {
    case "delivered":
      return recorded([{ type: "WebhookDelivered", data: { attempt, ...facts } }]);
    case "gone": {
      const data = { attempt, ...facts, reason: result.reason, attemptBurnt: true };
      const failed: WebhookDeliveryEvent = { type: "WebhookAttemptFailed", data };
      const isOver = state.claim?.attempt === attempt;
      return recorded(
        isOver ? [failed, { type: "WebhookDeliveryExhausted", data: { reason: "gone" } }] : [failed],
      );
    }
    case "ours": {
      const nextAttemptAt = rfc3339(input.now + policy.ownFaultRetryMs);
      const data = { attempt, ...facts, reason: result.reason, attemptBurnt: false, nextAttemptAt };
      return recorded([{ type: "WebhookAttemptFailed", data }]);
    }
    default: {
      const { reason, retryAfterMs } = result;
      return recorded(failure(state, { attempt, ...facts, reason }, { policy, input, retryAfterMs }));
    }
  }
}

/** Ends a claim whose lease expired without an outcome: the endpoint may have been called. */
export function expireAttempt(
  state: WebhookDeliveryState,
  attempt: number,
  recording: Omit<Recording, "facts">,
): Decision<"expired" | "notClaimed", WebhookDeliveryEvent> {
  if (state?.claim?.attempt !== attempt) return decided("notClaimed");
  const facts = { attempt, durationMs: state.claim.leaseMs, reason: LEASE_EXPIRED };
  return decided("expired", ...failure(state, facts, { ...recording, retryAfterMs: null }));
}

/** Skips a delivery whose endpoint was deleted or disabled. */
export function skipDelivery(
  state: WebhookDeliveryState,
  origin: DeliveryOrigin,
  reason: "endpoint_deleted" | "endpoint_disabled",
): Decision<"skipped" | "notPending", WebhookDeliveryEvent> {
  if (state !== null && state.status !== "pending") return decided("notPending");
  return decided("skipped", { type: "WebhookDeliverySkipped", data: { origin, reason } });
}

export interface RedeliveryRequest {
  readonly origin: DeliveryOrigin;
  /** Whether its endpoint was disabled at the time of the event, so it was never tried. */
  readonly isMissed: boolean;
}

/** Of two requests at the same time the one that began first may be decided last; none takes longer than this. */
const REQUESTS_OVERLAP_MS = 15 * SECOND_MS;

/** Restarts the schedule, whatever the outcome was. A delivery that is due or in flight stays as it is. */
export function requestRedelivery(
  state: WebhookDeliveryState,
  { origin, isMissed }: RedeliveryRequest,
  now: EpochMs,
): Decision<"requested" | "underWay", WebhookDeliveryEvent> {
  const isUnderWay =
    state === null
      ? !isMissed
      : state.status === "attempting" || (state.status === "pending" && isDue(state, now));
  if (isUnderWay) return decided("underWay");
  const data = { origin, at: rfc3339(now) };
  return decided("requested", { type: "WebhookRedeliveryRequested", data });
}

/** Whether it is due, also by a request that was just made. */
function isDue({ countedAttempts, nextAttemptAt }: NonNullable<WebhookDeliveryState>, now: EpochMs): boolean {
  return nextAttemptAt <= now + (countedAttempts === 0 ? REQUESTS_OVERLAP_MS : 0);
}

/** Like {@link requestRedelivery}, but leaves alone what has been delivered meanwhile. */
export function requestRecovery(
  state: WebhookDeliveryState,
  request: RedeliveryRequest,
  now: EpochMs,
): Decision<"requested" | "underWay" | "delivered", WebhookDeliveryEvent> {
  if (state?.status === "delivered") return decided("delivered");
  return requestRedelivery(state, request, now);
}
