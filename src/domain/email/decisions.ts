import { type Decision, decided } from "../../kernel/event/decider.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import { withErasure } from "./contentErasure.ts";
import { isPastDeadline } from "./delivery/deliverBefore.ts";
import type { DecisionInput, DeliveryPolicy } from "./delivery/deliveryPolicy.ts";
import type { RecordedAttemptResult } from "./delivery/encryptRelayReply.ts";
import { expiresAt } from "./delivery/messageExpiry.ts";
import { nextDeliveryAction } from "./delivery/nextDeliveryAction.ts";
import { holdsAmbiguous, nextAttemptAt, retryAfter, uncountedRetryAt } from "./delivery/retrySchedule.ts";
import { type EmailEvent, OPERATOR } from "./events.ts";
import {
  type Email,
  type EmailState,
  EXPIRED,
  emailDecider,
  isTerminal,
  isWaiting,
  LEASE_EXPIRED,
  RESUMED,
} from "./state.ts";

type CancelOutcome = "canceled" | "alreadyCanceled" | "notCancelable" | "deliveryUnknown" | "notFound";

/** Cancels a waiting message. A claimed one can no longer be canceled, nor one that the relay may have. */
export function cancel(state: EmailState): Decision<CancelOutcome, EmailEvent> {
  if (state === null) return decided("notFound");
  if (state.status === "canceled") return decided("alreadyCanceled");
  if (!isWaiting(state.status)) return decided("notCancelable");
  if (state.ambiguous) return decided("deliveryUnknown");
  return decided("canceled", ...withErasure(state, [{ type: "EmailCanceled", data: {} }]));
}

export interface ClaimRequest {
  readonly worker: string;
  readonly transport: string;
  readonly leaseMs: number;
}

/**
 * Claims a waiting message whose deadline has not passed. Only the worker that appends the claim at the expected revision
 * may deliver.
 */
export function startDelivery(
  state: EmailState,
  request: ClaimRequest,
  now: EpochMs,
): Decision<number | null, EmailEvent> {
  if (state === null || !isWaiting(state.status) || isPastDeadline(state, now)) return decided(null);
  const attempt = state.attempts + 1;
  return decided(attempt, { type: "EmailDeliveryStarted", data: { attempt, ...request } });
}

type OutcomeEvent = Extract<
  EmailEvent,
  { type: "EmailSent" | "EmailBounced" | "EmailFailed" | "EmailDeferred" }
>;

export interface RecordingInput {
  readonly policy: DeliveryPolicy;
  readonly input: DecisionInput;
  readonly transport: string;
}

function outcomeEvent(
  email: Email,
  attempt: number,
  result: RecordedAttemptResult,
  recording: RecordingInput,
): OutcomeEvent {
  switch (result.kind) {
    case "sent": {
      const { kind: _, codes: reply, ...facts } = result;
      return { type: "EmailSent", data: { attempt, transport: recording.transport, reply, ...facts } };
    }
    case "bounced": {
      const { kind: _, suppress: __, ...facts } = result;
      return { type: "EmailBounced", data: { attempt, ...facts } };
    }
    case "failed": {
      const { kind: _, ...facts } = result;
      return { type: "EmailFailed", data: { attempt, ...facts } };
    }
    case "deferred": {
      const { kind: _, relayFault: __, ...facts } = result;
      const at = nextAttemptAt(email, result, recording.policy, recording.input);
      return { type: "EmailDeferred", data: { attempt, ...facts, nextAttemptAt: rfc3339(at) } };
    }
  }
}

/** Whether an outcome does not decide the message's status: it is late, and the message has moved on. */
function isSuperseded(email: Email, event: OutcomeEvent, { kind }: RecordedAttemptResult): boolean {
  return email.status === kind || emailDecider.evolve(email, event)?.status !== kind;
}

/**
 * Records the outcome of an attempt, even a late one after another worker took over: `evolve` knows which attempt it
 * belongs to. A repeat gives no events.
 */
export function recordOutcome(
  state: EmailState,
  attempt: number,
  result: RecordedAttemptResult,
  recording: RecordingInput,
): Decision<"recorded" | "alreadyRecorded", EmailEvent> {
  if (state === null || state.settledAttempts.includes(attempt)) return decided("alreadyRecorded");
  const event = outcomeEvent(state, attempt, result, recording);
  const recorded = isSuperseded(state, event, result)
    ? ({ ...event, data: { ...event.data, superseded: true } } as OutcomeEvent)
    : event;
  return decided("recorded", ...withErasure(state, [recorded]));
}

/** Ends a claim whose lease expired without an outcome: nobody knows whether the relay has the message. */
export function expireLease(
  state: EmailState,
  attempt: number,
  policy: DeliveryPolicy,
  input: DecisionInput,
): Decision<"expired" | "notClaimed", EmailEvent> {
  if (state === null || state.claim?.attempt !== attempt) return decided("notClaimed");
  const at = holdsAmbiguous(state, policy)
    ? expiresAt(state, policy, input.pausedMs)
    : retryAfter(state, policy, input, 0);
  const doubt = { attemptBurnt: true, ambiguous: true, nextAttemptAt: rfc3339(at) };
  return decided(
    "expired",
    ...withErasure(state, [{ type: "EmailDeferred", data: { attempt, reason: LEASE_EXPIRED, ...doubt } }]),
  );
}

/** Reasons after which the message is due again at once, although nobody tries it while they last. */
type Held = "sending_paused" | "sender_unavailable";

/** Releases a claim that may not deliver after all: pause, sender, recipient or content. Counts as no attempt. */
export function releaseLease(
  state: EmailState,
  attempt: number,
  why: Held | "content_unavailable" | "content_store_unavailable" | "store_unavailable" | "suppressed",
  { policy, input }: Omit<RecordingInput, "transport">,
): Decision<"released" | "notClaimed", EmailEvent> {
  if (state === null || state.claim?.attempt !== attempt) return decided("notClaimed");
  const released = (event: EmailEvent) => decided("released", ...withErasure(state, [event]));
  if (why === "suppressed")
    return released({ type: "EmailSuppressed", data: { attempt, reason: "suppressed_since" } });
  // The content store does not have it: a retry would not help.
  if (why === "content_unavailable") return released({ type: "EmailFailed", data: { attempt, reason: why } });
  const isHeld = why === "sending_paused" || why === "sender_unavailable";
  const at = isHeld ? retryAfter(state, policy, input, 0) : uncountedRetryAt(state, policy, input);
  const facts = { attemptBurnt: false, ambiguous: false, nextAttemptAt: rfc3339(at) };
  return released({ type: "EmailDeferred", data: { attempt, reason: why, ...facts } });
}

/** Ends a message whose lifetime is over. A claimed one first waits for the outcome of its attempt. */
export function expire(
  state: EmailState,
  policy: DeliveryPolicy,
  input: DecisionInput,
): Decision<"expired" | "notDue", EmailEvent> {
  if (state === null || nextDeliveryAction(state, input, policy).kind !== "expire") return decided("notDue");
  const expired: EmailEvent = { type: "EmailFailed", data: { attempt: state.attempts, reason: EXPIRED } };
  return decided("expired", ...withErasure(state, [expired]));
}

/** `simulated`: the simulator delivers it, so no relay can have had it. */
type RecordSentOutcome = "recorded" | "alreadyEnded" | "simulated" | "notFound";

/**
 * Records on the operator's word that a message which has not ended was sent: the log lost the events that said so. It
 * names no attempt, transport or reply, because nobody knows them. A repeat gives no events.
 */
export function recordSentByOperator(state: EmailState): Decision<RecordSentOutcome, EmailEvent> {
  if (state === null) return decided("notFound");
  if (isTerminal(state.status)) return decided("alreadyEnded");
  if (state.isSimulated) return decided("simulated");
  const unknown = { attempt: 0, transport: "unknown", reply: "" };
  const event: EmailEvent = { type: "EmailSent", data: { ...unknown, source: OPERATOR } };
  return decided("recorded", ...withErasure(state, [event]));
}

interface Resumed {
  readonly outcome: "resumed" | "notHeld";
  /** The relay may have the message already: the next attempt may send it twice. */
  readonly ambiguous: boolean;
}

/** Makes a deferred message due now. */
export function resumeHeld(state: EmailState, now: EpochMs): Decision<Resumed, EmailEvent> {
  const isHeld = state?.status === "deferred" && (state.nextAttemptAt > now || state.isDeliveryUnknown);
  if (!isHeld) {
    return decided({ outcome: "notHeld", ambiguous: false });
  }
  const facts = { attemptBurnt: false, ambiguous: false, nextAttemptAt: rfc3339(now) };
  return decided(
    { outcome: "resumed", ambiguous: state.ambiguous },
    { type: "EmailDeferred", data: { attempt: state.attempts, reason: RESUMED, ...facts } },
  );
}
