import { type Decision, decided } from "../../kernel/event/decider.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { SenderEvent } from "./events.ts";
import { retryDelayMs } from "./retrySchedule.ts";
import type { Sender, SenderState, VerificationRequest } from "./state.ts";

interface MailClaim {
  readonly requestId: string;
  readonly worker: string;
  readonly leaseMs: number;
  readonly now: EpochMs;
  /** The claim to take over, because its lease expired without an outcome; null: the mail must not be claimed. */
  readonly expiredAttempt: number | null;
}

/** A claimed mail: its sender, its link and the number of the claim. */
export interface ClaimedMail {
  readonly sender: Sender;
  readonly request: VerificationRequest;
  readonly attempt: number;
}

function isClaimable(request: VerificationRequest, { now, expiredAttempt }: MailClaim): boolean {
  if (request.mail === "claimed") return request.attempts === expiredAttempt;
  return request.mail === "waiting" && request.nextAttemptAt <= now;
}

/** Claims a mail: the worker that appends the claim at the expected revision may send it. Not for an expired link. */
export function claimVerificationMail(
  state: SenderState,
  claim: MailClaim,
): Decision<ClaimedMail | null, SenderEvent> {
  const request = state?.requests.find(({ id }) => id === claim.requestId);
  if (!state || !request || state.verifiedBy !== null || !isClaimable(request, claim)) {
    return decided(null);
  }
  const { requestId, worker, leaseMs, now } = claim;
  if (now >= request.expiresAt) {
    const end = { requestId, attempt: request.attempts, reason: "expired" };
    return decided(null, { type: "SenderVerificationMailFailed", data: end });
  }
  const attempt = request.attempts + 1;
  return decided(
    { sender: state, request, attempt },
    { type: "SenderVerificationMailStarted", data: { requestId, attempt, worker, leaseMs } },
  );
}

/** The outcome of a verification mail. `isFinal`: a retry would not help. */
export type MailResult =
  | { readonly kind: "sent"; readonly transport: string }
  | { readonly kind: "failed"; readonly reason: string; readonly code?: number; readonly isFinal: boolean };

interface MailAttempt {
  readonly requestId: string;
  readonly attempt: number;
  readonly now: EpochMs;
}

/**
 * Records the outcome of a claimed mail. A failed one is retried with exponential backoff while its link is valid. If the
 * claim was taken over or settled meanwhile, only a `sent` gives events, because then nobody else has to send the mail.
 */
export function settleVerificationMail(
  state: SenderState,
  { requestId, attempt, now }: MailAttempt,
  result: MailResult,
): Decision<null, SenderEvent> {
  const request = state?.requests.find(({ id }) => id === requestId);
  if (!request || request.mail === "sent") return decided(null);
  if (result.kind === "sent") {
    const { transport } = result;
    return decided(null, { type: "SenderVerificationMailSent", data: { requestId, attempt, transport } });
  }
  if (request.mail !== "claimed" || request.attempts !== attempt) return decided(null);
  const { kind: _, isFinal, ...facts } = result;
  const at = now + retryDelayMs(attempt);
  const again = isFinal || at >= request.expiresAt ? {} : { nextAttemptAt: rfc3339(at) };
  return decided(null, {
    type: "SenderVerificationMailFailed",
    data: { requestId, attempt, ...facts, ...again },
  });
}
