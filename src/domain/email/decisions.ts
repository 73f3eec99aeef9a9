import type { Decision } from "../../kernel/event/decider.ts";
import { type EpochMs, HOUR_MS, MINUTE_MS, rfc3339 } from "../../kernel/time.ts";
import type { EmailEvent } from "./events.ts";
import type { LastingVerdict } from "./recordedVerdict.ts";
import {
  type Email,
  type EmailState,
  type ErasureReason,
  EXPIRED,
  emailDecider,
  isTerminal,
  isWaiting,
  LEASE_EXPIRED,
  RESUMED,
} from "./state.ts";

/** The rules of delivery that an operator can set; times in ms. */
export interface DeliveryPolicy {
  /** From acceptance to the end, pauses not counted: the promise is 72 hours. */
  readonly lifetimeMs: number;
  readonly leaseMs: number;
  readonly retryBaseMs: number;
  readonly retryMaxMs: number;
  readonly relayRetryMs: number;
  /** What becomes of a message that may or may not have been sent. */
  readonly onAmbiguous: "retry" | "hold";
}

export const DELIVERY_POLICY: DeliveryPolicy = {
  lifetimeMs: 72 * HOUR_MS,
  leaseMs: 2 * MINUTE_MS,
  retryBaseMs: MINUTE_MS,
  retryMaxMs: 4 * HOUR_MS,
  relayRetryMs: 30_000,
  onAmbiguous: "retry",
};

/** When and with what luck something is decided: `random` is in [0, 1). */
export interface Moment {
  readonly now: EpochMs;
  readonly random: number;
  /** How long the workspace was paused since acceptance: that time does not count. */
  readonly pausedMs: number;
}

export function expiresAt(email: Email, policy: DeliveryPolicy, pausedMs: number): EpochMs {
  return email.acceptedAt + policy.lifetimeMs + pausedMs;
}

type CancelOutcome = "canceled" | "alreadyCanceled" | "notCancelable" | "notFound";

/** A message can be called back until a worker has claimed it. */
export function cancel(state: EmailState): Decision<CancelOutcome, EmailEvent> {
  if (state === null) return { outcome: "notFound", events: [] };
  if (state.status === "canceled") return { outcome: "alreadyCanceled", events: [] };
  if (!isWaiting(state.status)) return { outcome: "notCancelable", events: [] };
  return { outcome: "canceled", events: [{ type: "EmailCanceled", data: {} }] };
}

export interface ClaimRequest {
  readonly worker: string;
  readonly transport: string;
  readonly leaseMs: number;
}

/** The claim: whoever appends it at the expected revision may deliver, nobody else. */
export function startDelivery(state: EmailState, request: ClaimRequest): Decision<number | null, EmailEvent> {
  if (state === null || !isWaiting(state.status)) return { outcome: null, events: [] };
  const attempt = state.attempts + 1;
  return { outcome: attempt, events: [{ type: "EmailDeliveryStarted", data: { attempt, ...request } }] };
}

/** Exponential backoff with up to 20% of jitter added: 1 min, 2 min, 4 min … capped. */
function retryAt(email: Email, policy: DeliveryPolicy, moment: Moment): EpochMs {
  const backoffMs = Math.min(policy.retryMaxMs, policy.retryBaseMs * 2 ** email.attemptsBurnt);
  return clampToLifetime(email, policy, moment, backoffMs);
}

function clampToLifetime(email: Email, policy: DeliveryPolicy, moment: Moment, delayMs: number): EpochMs {
  const at = moment.now + Math.ceil(delayMs * (1 + 0.2 * moment.random));
  return Math.min(at, expiresAt(email, policy, moment.pausedMs));
}

type DeferredVerdict = Extract<LastingVerdict, { kind: "deferred" }>;

function nextAttemptAt(
  email: Email,
  verdict: DeferredVerdict,
  policy: DeliveryPolicy,
  moment: Moment,
): EpochMs {
  if (verdict.ambiguous && policy.onAmbiguous === "hold") return expiresAt(email, policy, moment.pausedMs);
  if (verdict.attemptBurnt) return retryAt(email, policy, moment);
  return clampToLifetime(email, policy, moment, policy.relayRetryMs);
}

function outcomeEvent(
  email: Email,
  attempt: number,
  verdict: LastingVerdict,
  on: { policy: DeliveryPolicy; moment: Moment; transport: string },
): EmailEvent {
  switch (verdict.kind) {
    case "sent": {
      const { kind: _, codes: reply, ...facts } = verdict;
      return { type: "EmailSent", data: { attempt, transport: on.transport, reply, ...facts } };
    }
    case "bounced": {
      const { kind: _, suppress: __, ...facts } = verdict;
      return { type: "EmailBounced", data: { attempt, ...facts } };
    }
    case "failed": {
      const { kind: _, ...facts } = verdict;
      return { type: "EmailFailed", data: { attempt, ...facts } };
    }
    case "deferred": {
      const { kind: _, relayFault: __, ...facts } = verdict;
      const at = nextAttemptAt(email, verdict, on.policy, on.moment);
      return { type: "EmailDeferred", data: { attempt, ...facts, nextAttemptAt: rfc3339(at) } };
    }
  }
}

/**
 * Records what became of an attempt. Also late: when another worker has taken over meanwhile, the outcome is
 * still appended, and `evolve` knows which attempt it belongs to. Recording it again gives no events.
 */
export function recordOutcome(
  state: EmailState,
  attempt: number,
  verdict: LastingVerdict,
  on: { policy: DeliveryPolicy; moment: Moment; transport: string },
): Decision<"recorded" | "alreadyRecorded", EmailEvent> {
  if (state === null || state.settledAttempts.includes(attempt))
    return { outcome: "alreadyRecorded", events: [] };
  return {
    outcome: "recorded",
    events: withErasure(state, [outcomeEvent(state, attempt, verdict, on)]),
  };
}

/** A claim whose lease ran out with no outcome: nobody knows whether the relay has the message. */
export function expireLease(
  state: EmailState,
  attempt: number,
  policy: DeliveryPolicy,
  moment: Moment,
): Decision<"expired" | "notClaimed", EmailEvent> {
  if (state === null || state.claim?.attempt !== attempt) return { outcome: "notClaimed", events: [] };
  const hold = policy.onAmbiguous === "hold";
  const at = hold ? expiresAt(state, policy, moment.pausedMs) : clampToLifetime(state, policy, moment, 0);
  const doubt = { attemptBurnt: true, ambiguous: true, nextAttemptAt: rfc3339(at) };
  return {
    outcome: "expired",
    events: withErasure(state, [
      { type: "EmailDeferred", data: { attempt, reason: LEASE_EXPIRED, ...doubt } },
    ]),
  };
}

/** A claim that ends for these is due again at once: whoever is paused or disabled is left alone until that ends. */
type Held = "sending_paused" | "sender_unavailable";

/** Ends a claim because the log says no after all: paused, sender, recipient or content. Burns no attempt. */
export function giveBackClaim(
  state: EmailState,
  attempt: number,
  why: Held | "content_unavailable" | "store_unavailable" | "suppressed",
  on: { policy: DeliveryPolicy; moment: Moment },
): Decision<"givenBack" | "notClaimed", EmailEvent> {
  if (state === null || state.claim?.attempt !== attempt) return { outcome: "notClaimed", events: [] };
  if (why === "suppressed") {
    return {
      outcome: "givenBack",
      events: withErasure(state, [
        { type: "EmailSuppressed", data: { attempt, reason: "suppressed_since" } },
      ]),
    };
  }
  if (why === "content_unavailable") {
    // The store answered that it has none: waiting brings nothing back.
    return {
      outcome: "givenBack",
      events: withErasure(state, [{ type: "EmailFailed", data: { attempt, reason: why } }]),
    };
  }
  const delayMs = why === "store_unavailable" ? on.policy.relayRetryMs : 0;
  const at = clampToLifetime(state, on.policy, on.moment, delayMs);
  const facts = { attemptBurnt: false, ambiguous: false, nextAttemptAt: rfc3339(at) };
  return {
    outcome: "givenBack",
    events: withErasure(state, [{ type: "EmailDeferred", data: { attempt, reason: why, ...facts } }]),
  };
}

/** The end of a message that could not be delivered in its time. One that is claimed has its outcome to come. */
export function expire(state: EmailState): Decision<"expired" | "notWaiting", EmailEvent> {
  if (state === null || !isWaiting(state.status)) return { outcome: "notWaiting", events: [] };
  return {
    outcome: "expired",
    events: [{ type: "EmailFailed", data: { attempt: state.attempts, reason: EXPIRED } }],
  };
}

interface Resumed {
  readonly outcome: "resumed" | "notHeld";
  /** True when the relay may have the message already: the next attempt may be a repeat. */
  readonly ambiguous: boolean;
}

/** Lets a message that waits for a later time go on now. */
export function resumeHeld(state: EmailState, now: EpochMs): Decision<Resumed, EmailEvent> {
  const isHeld = state?.status === "deferred" && (state.nextAttemptAt > now || state.inDoubt);
  if (!isHeld) {
    return { outcome: { outcome: "notHeld", ambiguous: false }, events: [] };
  }
  const facts = { attemptBurnt: false, ambiguous: false, nextAttemptAt: rfc3339(now) };
  return {
    outcome: { outcome: "resumed", ambiguous: state.ambiguous },
    events: [{ type: "EmailDeferred", data: { attempt: state.attempts, reason: RESUMED, ...facts } }],
  };
}

type EraseOutcome = "erased" | "alreadyErased" | "afterClaim" | "notFound";

/** Without its content a message cannot be delivered, so one that waits ends here. */
function erasure(email: Email, why: ErasureReason): readonly EmailEvent[] {
  if (!isWaiting(email.status)) return [{ type: "EmailContentErased", data: why }];
  return [
    { type: "EmailCanceled", data: {} },
    { type: "EmailContentErased", data: { ...why, canceled: true } },
  ];
}

/**
 * Erases the content of a message. One that waits is canceled with it; one that a worker is at keeps its content
 * until the claim has ended. A repeat gives no events.
 */
export function eraseContent(state: EmailState, why: ErasureReason): Decision<EraseOutcome, EmailEvent> {
  if (state === null) return { outcome: "notFound", events: [] };
  if (state.contentErased) return { outcome: "alreadyErased", events: [] };
  if (state.claim === null) return { outcome: "erased", events: erasure(state, why) };
  if (state.erasureRequested !== null) return { outcome: "afterClaim", events: [] };
  return { outcome: "afterClaim", events: [{ type: "EmailContentErasureRequested", data: why }] };
}

/** Events that may end a claim, and the erasure that waits for its end. */
function withErasure(email: Email, events: readonly EmailEvent[]): readonly EmailEvent[] {
  const after = events.reduce(emailDecider.evolve, email as EmailState);
  if (after === null || after.erasureRequested === null || after.contentErased) return events;
  return after.claim === null ? [...events, ...erasure(after, after.erasureRequested)] : events;
}

/** Erases the content of a message that has ended and was accepted at `acceptedBefore` or earlier. */
export function retireContent(
  state: EmailState,
  acceptedBefore: EpochMs,
): Decision<"erased" | "notDue", EmailEvent> {
  if (state === null || state.contentErased || !isTerminal(state.status) || state.acceptedAt > acceptedBefore)
    return { outcome: "notDue", events: [] };
  return { outcome: "erased", events: erasure(state, { reason: "retention" }) };
}

/**
 * Whether nothing needs the files of a message any more: it has ended, and their time is over or its content was
 * erased. Once so, it stays so.
 */
export function canLoseAttachments(state: EmailState, now: EpochMs): state is Email {
  if (state === null || state.attachmentsUntil === null || state.attachmentsExpired) return false;
  return isTerminal(state.status) && (state.contentErased || now >= state.attachmentsUntil);
}

/** Notes that the files are gone. Comes after their removal, so that what a crash left undone is seen. */
export function expireAttachments(
  state: EmailState,
  now: EpochMs,
): Decision<"expired" | "notDue", EmailEvent> {
  if (!canLoseAttachments(state, now)) return { outcome: "notDue", events: [] };
  return { outcome: "expired", events: [{ type: "EmailAttachmentsExpired", data: {} }] };
}
