import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/event/decider.ts";
import { type EpochMs, epochMs } from "../../kernel/time.ts";
import {
  ACCEPTED_AS,
  type AcceptanceEvent,
  type AcceptedAs,
  type EmailEvent,
  isAcceptance,
  UNTIL_FINAL_STATUS,
} from "./events.ts";

/** The statuses of a message, in the order in which they may occur. */
export const EMAIL_STATUSES = [
  "scheduled",
  "queued",
  "sending",
  "deferred",
  "sent",
  "delivered",
  "bounced",
  "complained",
  "failed",
  "suppressed",
  "canceled",
] as const;

export type EmailStatus = (typeof EMAIL_STATUSES)[number];

/** A bounce or complaint that was reported about a message, as its status and reason. */
interface Report {
  readonly status: "bounced" | "complained";
  readonly reason: string | null;
}

/** The right of one worker to deliver, for `leaseMs` after the claim. */
export interface Claim {
  readonly attempt: number;
  readonly worker: string;
  readonly leaseMs: number;
}

/** Why content is erased; `erasureId` names the request to erase a person. */
export interface ErasureReason {
  readonly reason: string;
  readonly erasureId?: string;
}

/** A completed erasure. */
interface ContentErasure extends ErasureReason {
  readonly canceled?: true;
}

export interface Email {
  readonly status: EmailStatus;
  /** The reason that the event which set the status gives; null if it gives none. */
  readonly reason: string | null;
  readonly workspaceId: string;
  /** Whether a test key sent it: it never goes to a relay. */
  readonly isTest: boolean;
  /** Whether its acceptance says that the simulator delivers it. */
  readonly isSimulated: boolean;
  readonly senderId: string;
  /** The sender that authorizes it: that of its address, or of its domain. */
  readonly authorityId: string;
  readonly recipientHash: string;
  readonly fingerprint: string;
  readonly acceptedAt: EpochMs;
  readonly contentEventId: string;
  readonly templateId: string | null;
  readonly templateVersionId: string | null;
  /** The message whose content was sent again as this one; null if none was. */
  readonly againOf: string | null;
  /** The status that the 202 carried: a replay repeats it whatever happened since. */
  readonly acceptedAs: AcceptedAs;
  /** When it is scheduled for; null if it was sent to go at once. */
  readonly scheduledAt: EpochMs | null;
  /** No attempt begins from then on; null if its sender set no such time. */
  readonly deliverBefore: EpochMs | null;
  /** Whether its content is erased as soon as it has ended, as its send asked for. */
  readonly isErasedAtEnd: boolean;
  /** Claims so far. An attempt has the number of its claim. */
  readonly attempts: number;
  /** The attempts that count: the backoff grows with them. */
  readonly countedAttempts: number;
  readonly claim: Claim | null;
  readonly nextAttemptAt: EpochMs;
  /** Whether the delivery of any attempt so far is unknown: the relay may have the message. */
  readonly ambiguous: boolean;
  /** The relay of the last such attempt, as far as events name it: it may have the message. */
  readonly ambiguousRelay: string | null;
  /** Whether the delivery of the last attempt is unknown, and the operator has not resumed the message since. */
  readonly isDeliveryUnknown: boolean;
  /** The feedback in the log, each as {@link feedbackKey} names it. */
  readonly feedback: readonly string[];
  /** The first bounce or complaint that was reported, whether or not it changed the status; null if there was none. */
  readonly report: Report | null;
  /** The attempts whose outcome is in the log, so that none is recorded twice. */
  readonly settledAttempts: readonly number[];
  readonly contentErased: boolean;
  /** The erasure that waits for the end of the claim; null while none does. */
  readonly erasureRequested: ErasureReason | null;
  /** Why the content was erased; null while it was not. */
  readonly erasedFor: ContentErasure | null;
  /** The transport of the last attempt; null before the first. */
  readonly transport: string | null;
  /** The end of the retention of its files; null when it has none. */
  readonly attachmentsUntil: EpochMs | null;
  /** The storage quota that its files take until they expire. */
  readonly directBytes: number;
  readonly attachmentsExpired: boolean;
}

/** `null` before the message was accepted. */
export type EmailState = Email | null;

export function isTerminal(status: EmailStatus): boolean {
  return status !== "sending" && !isWaiting(status);
}

/** Whether it has not ended and is not claimed. */
export function isWaiting(status: EmailStatus): boolean {
  return status === "queued" || status === "scheduled" || status === "deferred";
}

/** When its delivery may begin: this is its date, and its lifetime starts here. */
export function deliverFrom({ scheduledAt, acceptedAt }: Pick<Email, "scheduledAt" | "acceptedAt">): EpochMs {
  return scheduledAt ?? acceptedAt;
}

function accepted({ type, data }: AcceptanceEvent): Email {
  const { workspaceId, senderId, recipientHash, fingerprint, contentEventId } = data;
  const { templateId = null, templateVersionId = null, authorityId = senderId } = data;
  const { directBytes = 0, attachmentsUntil, test = false, simulated = false } = data;
  const { deliverBefore, contentRetention, againOf = null } = data;
  const acceptedAs = ACCEPTED_AS[type];
  const acceptedAt = epochMs(data.acceptedAt);
  const scheduledAt = type === "EmailScheduled" ? epochMs(data.scheduledAt) : null;
  return {
    status: acceptedAs,
    reason: type === "EmailSuppressed" ? data.reason : null,
    workspaceId,
    isTest: test,
    isSimulated: simulated,
    senderId,
    authorityId,
    recipientHash,
    fingerprint,
    acceptedAt,
    contentEventId,
    templateId,
    templateVersionId,
    againOf,
    acceptedAs,
    scheduledAt,
    deliverBefore: deliverBefore === undefined ? null : epochMs(deliverBefore),
    isErasedAtEnd: contentRetention === UNTIL_FINAL_STATUS,
    attempts: 0,
    countedAttempts: 0,
    claim: null,
    nextAttemptAt: scheduledAt ?? acceptedAt,
    ambiguous: false,
    ambiguousRelay: null,
    isDeliveryUnknown: false,
    feedback: [],
    report: null,
    settledAttempts: [],
    contentErased: false,
    erasureRequested: null,
    erasedFor: null,
    transport: null,
    attachmentsUntil: attachmentsUntil === undefined ? null : epochMs(attachmentsUntil),
    directBytes,
    attachmentsExpired: false,
  };
}

/**
 * The first end stays, and a later one only adds to the history. Two things change the status after an end: that a relay
 * took the message ({@link send}), and what is reported about it ({@link applyFeedback}).
 */
function end(state: Email, status: EmailStatus, { attempt, reason }: Ending = {}): Email {
  const settled = attempt === undefined ? state : settle(state, attempt);
  return isTerminal(state.status) ? settled : { ...settled, status, reason: reason ?? null, claim: null };
}

/**
 * A relay took the message. This is the truth even if the message has ended otherwise since the attempt lost its claim:
 * canceled for an erasure, expired, or refused or suppressed in a later attempt. Whatever ended it kept back further
 * copies, but the recipient may have this one. If that one bounced or was complained of, the status says so.
 */
function send(state: Email, { attempt, source }: Sent): Email {
  // The operator's word settles no attempt: a worker may still have an outcome to record.
  const settled = source === undefined ? settle(state, attempt) : state;
  const { status, reason } = state.report ?? { status: "sent", reason: null };
  const isKnown = isTerminal(state.status) && !ENDED_OTHERWISE.has(state.status);
  return isKnown || status === state.status ? settled : { ...settled, status, reason, claim: null };
}

type Sent = Extract<EmailEvent, { type: "EmailSent" }>["data"];

/** What an event says about an end: which attempt it settles, and why. */
interface Ending {
  readonly attempt?: number;
  readonly reason?: string;
}

/** What is reported about a message after a relay accepted it. */
type ReportedFeedback =
  | { readonly kind: "delivered" | "complained" }
  | { readonly kind: "bounced"; readonly reason: string };
type FeedbackKind = ReportedFeedback["kind"];

/** Tells feedback apart: a bounce for another reason is another one, because some reasons suppress the recipient. */
function feedbackKey(feedback: ReportedFeedback): string {
  return feedback.kind === "bounced" ? `bounced ${feedback.reason}` : feedback.kind;
}

/** The statuses that each kind of feedback supersedes, because they say less. */
const SUPERSEDED_BY: Readonly<Record<FeedbackKind, ReadonlySet<EmailStatus>>> = {
  delivered: new Set(["sending", "deferred", "sent"]),
  bounced: new Set(["sending", "deferred", "sent", "delivered"]),
  complained: new Set(["sending", "deferred", "sent", "delivered"]),
};

/** How a message can end although an earlier attempt, whose outcome nobody knows, may have delivered it. */
const ENDED_OTHERWISE: ReadonlySet<EmailStatus> = new Set(["bounced", "failed", "suppressed", "canceled"]);

/** Whether feedback changes a message's status. Only a message that a relay may have can get feedback. */
function changesStatus({ status, ambiguous }: Email, kind: FeedbackKind): boolean {
  return SUPERSEDED_BY[kind].has(status) && (status !== "deferred" || ambiguous);
}

/** Whether a bounce or complaint, not a repeat, is about a copy that an attempt with an unknown outcome may have delivered. */
function isAboutUnknownAttempt({ status, ambiguous, feedback }: Email, reported: ReportedFeedback): boolean {
  if (reported.kind === "delivered" || !ambiguous || !ENDED_OTHERWISE.has(status)) return false;
  return !feedback.includes(feedbackKey(reported));
}

/** Whether feedback says anything that the message's events do not say yet. */
export function isNews(email: Email, reported: ReportedFeedback): boolean {
  return changesStatus(email, reported.kind) || isAboutUnknownAttempt(email, reported);
}

/**
 * Applies feedback. It may arrive before the outcome of the attempt, which is still recorded later, so this settles no
 * attempt.
 */
function applyFeedback(state: Email, reported: ReportedFeedback): Email {
  const { kind } = reported;
  const reason = kind === "bounced" ? reported.reason : null;
  const report = state.report ?? (kind === "delivered" ? null : { status: kind, reason });
  const noted = { ...state, feedback: [...state.feedback, feedbackKey(reported)], report };
  return changesStatus(state, kind) ? { ...noted, status: kind, reason, claim: null } : noted;
}

function settle(state: Email, attempt: number): Email {
  return { ...state, settledAttempts: [...state.settledAttempts, attempt] };
}

type Deferred = Extract<EmailEvent, { type: "EmailDeferred" }>["data"];

/** An expired lease does not settle its attempt: the worker may still record the outcome. */
function defer(state: Email, data: Deferred): Email {
  if (data.reason === RESUMED) {
    if (state.status !== "deferred") return state;
    return { ...state, isDeliveryUnknown: false, nextAttemptAt: epochMs(data.nextAttemptAt) };
  }
  const noted = data.reason === LEASE_EXPIRED ? state : settle(state, data.attempt);
  const countedAttempts = noted.countedAttempts + (data.attemptBurnt ? 1 : 0);
  const ambiguousRelay = (data.ambiguous ? data.relay : null) ?? noted.ambiguousRelay;
  const ambiguous = noted.ambiguous || data.ambiguous;
  const counted = { ...noted, countedAttempts, ambiguous, ambiguousRelay };
  if (state.claim?.attempt !== data.attempt) return counted;
  const { reason, ambiguous: isDeliveryUnknown } = data;
  const nextAttemptAt = epochMs(data.nextAttemptAt);
  return { ...counted, status: "deferred", reason, claim: null, isDeliveryUnknown, nextAttemptAt };
}

/** The reason of the EmailDeferred that ends a claim whose worker never reported back. */
export const LEASE_EXPIRED = "lease_expired";

/** The reason of the EmailFailed that ends a message whose lifetime is over. */
export const EXPIRED = "expired";

/** The reason of the EmailDeferred by which an operator resumes a held message. */
export const RESUMED = "resumed";

function evolveExisting(
  state: Email,
  event: Exclude<EmailEvent, { type: "EmailContentStored" | "EmailQueued" | "EmailScheduled" }>,
): Email {
  switch (event.type) {
    case "EmailSuppressed":
      return end(state, "suppressed", event.data);
    case "EmailDeliveryStarted": {
      const { attempt, worker, leaseMs, transport } = event.data;
      const claim = { attempt, worker, leaseMs };
      return { ...state, status: "sending", reason: null, attempts: attempt, claim, transport };
    }
    case "EmailRescheduled": {
      if (state.status !== "scheduled") return state;
      const scheduledAt = epochMs(event.data.scheduledAt);
      return { ...state, scheduledAt, nextAttemptAt: scheduledAt };
    }
    case "EmailSent":
      return send(state, event.data);
    case "EmailDeferred":
      return defer(state, event.data);
    case "EmailDelivered":
      return applyFeedback(state, { kind: "delivered" });
    case "EmailComplained":
      return applyFeedback(state, { kind: "complained" });
    case "EmailBounced":
      if (event.data.source !== undefined)
        return applyFeedback(state, { kind: "bounced", reason: event.data.reason });
      return end(state, "bounced", event.data);
    case "EmailFailed": {
      const { reason } = event.data;
      // Expiry settles no attempt: a worker whose lease expired may still have an outcome to record.
      return end(state, "failed", reason === EXPIRED ? { reason } : event.data);
    }
    case "EmailCanceled":
      return end(state, "canceled");
    case "EmailAttachmentsExpired":
      return { ...state, attachmentsExpired: true };
    case "EmailContentErasureRequested":
      return { ...state, erasureRequested: state.erasureRequested ?? event.data };
    case "EmailContentErased":
      return { ...state, contentErased: true, erasedFor: state.erasedFor ?? event.data };
    default:
      return never(event);
  }
}

function evolve(state: EmailState, event: EmailEvent): EmailState {
  if (event.type === "EmailContentStored") return state;
  if (isAcceptance(event)) return accepted(event);
  return state === null ? null : evolveExisting(state, event);
}

export const emailDecider: Decider<EmailState, EmailEvent> = { initialState: null, evolve };
