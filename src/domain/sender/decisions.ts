import { equalInConstantTime } from "../../kernel/crypto/equalInConstantTime.ts";
import { type Decision, decided } from "../../kernel/event/decider.ts";
import { type EpochMs, HOUR_MS, MINUTE_MS, rfc3339 } from "../../kernel/time.ts";
import type { SenderEvent, VerificationMethod } from "./events.ts";
import type { Beginning, Sender, SenderState, VerificationRequest } from "./state.ts";

/** A verification link works for this long. */
export const LINK_LIFETIME_MS = 24 * HOUR_MS;
const RETRY_MS_FIRST = MINUTE_MS;
const RETRY_MS_MAX = HOUR_MS;

/** How many addresses and domains callers may add to a workspace. Disabled ones count, because none is ever removed. */
export const SENDERS_MAX = 1_000;

/** A repeat gives no events: what was added first stays. */
export function addSender(
  state: SenderState,
  sender: Beginning,
): Decision<"added" | "alreadyAdded", SenderEvent> {
  if (state !== null) return decided("alreadyAdded");
  return decided("added", sender);
}

/** Changes a sender's display name; null removes it. A repeat gives no events. */
export function renameSender(
  state: SenderState,
  displayName: string | null,
): Decision<"renamed" | "unchanged" | "notFound", SenderEvent> {
  if (state === null) return decided("notFound");
  if (state.displayName === displayName) return decided("unchanged");
  const data = displayName === null ? {} : { displayName };
  return decided("renamed", { type: "SenderRenamed", data });
}

/** A repeat gives no events. */
export function verifySender(
  state: SenderState,
  method: VerificationMethod,
): Decision<"verified" | "notFound", SenderEvent> {
  if (state === null) return decided("notFound");
  if (state.verifiedBy !== null) return decided("verified");
  return decided("verified", { type: "SenderVerified", data: { method } });
}

/** Records whether the record that verified a domain is still there. Only a change gives events. */
export function noteRecord(
  state: SenderState,
  isThere: boolean,
  now: EpochMs,
): Decision<"missing" | "found" | "unchanged", SenderEvent> {
  const isAsked = state?.kind === "domain" && state.verifiedBy === "dns";
  if (!isAsked || isThere === (state.recordMissingSince === null)) return decided("unchanged");
  if (isThere) return decided("found", { type: "SenderRecordFound", data: {} });
  return decided("missing", { type: "SenderRecordMissing", data: { since: rfc3339(now) } });
}

/** Disables or enables a sender. Enabling does not verify it. A repeat gives no events. */
export function switchSender(
  state: SenderState,
  to: "disabled" | "enabled",
): Decision<"switched" | "notFound", SenderEvent> {
  if (state === null) return decided("notFound");
  if (state.disabled === (to === "disabled")) return decided("switched");
  return decided("switched", { type: to === "disabled" ? "SenderDisabled" : "SenderEnabled", data: {} });
}

/** A verification link, as it is issued or as somebody presents it. */
export interface VerificationLink {
  readonly requestId: string;
  readonly secretHash: string;
  readonly now: EpochMs;
}

/** Issues a verification link. A verified sender needs none. */
export function requestVerification(
  state: SenderState,
  { requestId, secretHash, now }: VerificationLink,
): Decision<"requested" | "alreadyVerified" | "notFound", SenderEvent> {
  if (state === null) return decided("notFound");
  if (state.verifiedBy !== null) return decided("alreadyVerified");
  const times = { requestedAt: rfc3339(now), expiresAt: rfc3339(now + LINK_LIFETIME_MS) };
  return decided("requested", {
    type: "SenderVerificationRequested",
    data: { requestId, secretHash, ...times },
  });
}

/** The status of a link: `used` once its sender is verified, by whatever means. */
export type LinkStatus = "open" | "used" | "expired" | "unknown";

export function linkStatus(state: SenderState, { requestId, secretHash, now }: VerificationLink): LinkStatus {
  const request = state?.requests.find(({ id }) => id === requestId);
  if (!state || !request || !equalInConstantTime(request.secretHash, secretHash)) return "unknown";
  if (state.verifiedBy !== null) return "used";
  return now < request.expiresAt ? "open" : "expired";
}

/** Verifies a sender by its link, once. */
export function confirmLink(
  state: SenderState,
  link: VerificationLink,
): Decision<"verified" | Exclude<LinkStatus, "open">, SenderEvent> {
  const status = linkStatus(state, link);
  if (status !== "open") return decided(status);
  return decided("verified", { type: "SenderVerified", data: { method: "email" } });
}

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
  const at = now + Math.min(RETRY_MS_MAX, RETRY_MS_FIRST * 2 ** (attempt - 1));
  const again = isFinal || at >= request.expiresAt ? {} : { nextAttemptAt: rfc3339(at) };
  return decided(null, {
    type: "SenderVerificationMailFailed",
    data: { requestId, attempt, ...facts, ...again },
  });
}
