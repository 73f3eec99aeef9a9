import type { EmailRow } from "../../../projections/emails.ts";
import type { StoryEvent } from "../../commands/email/emailHistory.ts";
import type { EmailView } from "../../commands/email/readEmail.ts";
import type { EmailEvent } from "../../domain/email/events.ts";
import type { ErasureReason } from "../../domain/email/state.ts";
import type { Waiting } from "../../domain/email/waitingReason.ts";
import { never } from "../../kernel/assert.ts";
import { rfc3339 } from "../../kernel/time.ts";

/** What an event adds to the timeline beside its name, time and sequence: no field that a newer version may add. */
function timelineFacts(event: EmailEvent): { readonly type: string } & Record<string, unknown> {
  switch (event.type) {
    case "EmailContentStored":
      return { type: "content_stored" };
    case "EmailQueued":
      return { type: "queued" };
    case "EmailSuppressed":
      return { type: "suppressed", reason: event.data.reason, attempt: event.data.attempt };
    case "EmailDeliveryStarted": {
      const { attempt, transport, leaseMs } = event.data;
      return { type: "delivery_started", attempt, transport, lease_ms: leaseMs };
    }
    case "EmailSent": {
      const { attempt, transport, reply, relayId } = event.data;
      return { type: "sent", attempt, transport, reply, relay_id: relayId };
    }
    case "EmailDeferred": {
      const { attempt, reason, ambiguous, attemptBurnt, nextAttemptAt } = event.data;
      const facts = { attempt, reason, ambiguous, ...answerFacts(event.data) };
      return { type: "deferred", ...facts, attempt_burnt: attemptBurnt, next_attempt_at: nextAttemptAt };
    }
    case "EmailBounced":
    case "EmailFailed": {
      const { attempt, reason } = event.data;
      const type = event.type === "EmailBounced" ? "bounced" : "failed";
      return { type, attempt, reason, ...answerFacts(event.data) };
    }
    case "EmailCanceled":
      return { type: "canceled" };
    case "EmailAttachmentsExpired":
      return { type: "attachments_expired" };
    case "EmailContentErasureRequested":
      return { type: "content_erasure_requested", ...erasureFacts(event.data) };
    case "EmailContentErased":
      return { type: "content_erased", ...erasureFacts(event.data) };
    default:
      return never(event);
  }
}

type Answered = Extract<EmailEvent, { type: "EmailDeferred" | "EmailBounced" | "EmailFailed" }>["data"];

function answerFacts({ code, enhancedCode, reply }: Answered) {
  return { code, enhanced_code: enhancedCode, reply };
}

function erasureFacts({ reason, erasureId }: ErasureReason) {
  return { reason, ...(erasureId === undefined ? {} : { erasure_id: erasureId }) };
}

function timelineJson({ sequence, at, event }: StoryEvent) {
  const { type, ...facts } = timelineFacts(event);
  return { type, at, sequence, ...facts };
}

/** A message in a list: who, what about, and how it stands. Null where the content was erased. */
export function emailSummaryJson({ id, email, content, events }: EmailView) {
  return {
    id,
    object: "email",
    status: email.status,
    created_at: rfc3339(email.acceptedAt),
    updated_at: events.at(-1)?.at ?? rfc3339(email.acceptedAt),
    from: content?.from ?? null,
    to: content?.to ?? null,
    subject: content?.subject ?? null,
    attempts: email.attempts,
  };
}

/** As {@link emailSummaryJson}, of a message whose events cannot be read: what the read model knows of it. */
export function rowSummaryJson({ id, status, createdAt, updatedAt, attempts }: EmailRow) {
  const unknown = { from: null, to: null, subject: null };
  return { id, object: "email", status, created_at: createdAt, updated_at: updatedAt, ...unknown, attempts };
}

function waitingJson({ reason, until, detail }: Waiting) {
  return { reason, until: until === null ? null : rfc3339(until), detail };
}

/** One message whole, with its timeline: the log itself, in order. */
export function emailJson(view: EmailView, waiting: Waiting | null) {
  const { email, content } = view;
  return {
    ...emailSummaryJson(view),
    reply_to: content?.replyTo ?? null,
    html: content?.html ?? null,
    text: content?.text ?? null,
    template_id: email.templateId,
    template_version_id: email.templateVersionId,
    attachments: (content?.attachments ?? []).map(({ filename, contentType, bytes }) => {
      return { filename, content_type: contentType, size_bytes: bytes, expired: email.attachmentsExpired };
    }),
    metadata: content?.metadata ?? null,
    next_attempt_at: email.status === "deferred" ? rfc3339(email.nextAttemptAt) : null,
    waiting: waiting && waitingJson(waiting),
    content_erased: email.contentErased,
    timeline: view.events.map(timelineJson),
  };
}
