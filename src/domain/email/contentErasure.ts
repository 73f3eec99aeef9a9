import { type Decision, decided } from "../../kernel/event/decider.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { EmailEvent } from "./events.ts";
import {
  deliverFrom,
  type Email,
  type EmailState,
  type ErasureReason,
  emailDecider,
  isTerminal,
  isWaiting,
} from "./state.ts";

/** The reason of an erasure that the send asked for: its content is kept until its first final status alone. */
export const AT_END = "final_status";

type EraseOutcome = "erased" | "alreadyErased" | "afterClaim" | "notFound";

/** The events of an erasure. A waiting message cannot be delivered without its content, so it is canceled. */
function erasure(email: Email, why: ErasureReason): readonly EmailEvent[] {
  if (!isWaiting(email.status)) return [{ type: "EmailContentErased", data: why }];
  return [
    { type: "EmailCanceled", data: {} },
    { type: "EmailContentErased", data: { ...why, canceled: true } },
  ];
}

/**
 * Erases the content of a message. A waiting message is canceled; a claimed one keeps its content until its claim ends.
 * A repeat gives no events.
 */
export function eraseContent(state: EmailState, why: ErasureReason): Decision<EraseOutcome, EmailEvent> {
  if (state === null) return decided("notFound");
  if (state.contentErased) return decided("alreadyErased");
  if (state.claim === null) return decided("erased", ...erasure(state, why));
  if (state.erasureRequested !== null) return decided("afterClaim");
  return decided("afterClaim", { type: "EmailContentErasureRequested", data: why });
}

/**
 * The given events, followed by the erasure that they make due: the requested one if they end the claim that it waits for,
 * or the one that the send asked for if they end the message. In one append, no crash can come between.
 */
export function withErasure(email: Email, events: readonly EmailEvent[]): readonly EmailEvent[] {
  const after = events.reduce(emailDecider.evolve, email as EmailState);
  const why = after === null ? null : dueErasure(after);
  return after === null || why === null ? events : [...events, ...erasure(after, why)];
}

function dueErasure(email: Email): ErasureReason | null {
  if (email.contentErased || email.claim !== null) return null;
  if (email.erasureRequested !== null) return email.erasureRequested;
  return email.isErasedAtEnd && isTerminal(email.status) ? { reason: AT_END } : null;
}

/** From when the retention of the content counts: a scheduled message has to be kept until its time anyway. */
function retainedSince(email: Email): EpochMs {
  // A clock that was set back may have moved a message to a time before its acceptance.
  return Math.max(email.acceptedAt, deliverFrom(email));
}

/** Erases the content of a message that has ended and whose retention counts from `before` or earlier. */
export function expireContent(state: EmailState, before: EpochMs): Decision<"erased" | "notDue", EmailEvent> {
  if (state === null || state.contentErased || !isTerminal(state.status) || retainedSince(state) > before)
    return decided("notDue");
  return decided("erased", ...erasure(state, { reason: "retention" }));
}

/**
 * Whether a message's files can be removed: it has ended, and their retention is over or its content was erased. Once
 * true, this stays true until the removal is recorded.
 */
export function canLoseAttachments(state: EmailState, now: EpochMs): state is Email {
  if (state === null || state.attachmentsUntil === null || state.attachmentsExpired) return false;
  return isTerminal(state.status) && (state.contentErased || now >= state.attachmentsUntil);
}

/** Records that the files were removed. Call it after the removal: a crash in between then repeats the removal. */
export function expireAttachments(
  state: EmailState,
  now: EpochMs,
): Decision<"expired" | "notDue", EmailEvent> {
  if (!canLoseAttachments(state, now)) return decided("notDue");
  return decided("expired", { type: "EmailAttachmentsExpired", data: {} });
}
