import { type TProperties, Type } from "@sinclair/typebox";
import type { HistoryEvent } from "../../commands/email/emailHistory.ts";
import type { EmailEvent } from "../../domain/email/events.ts";
import type { ErasureReason } from "../../domain/email/state.ts";
import { never } from "../../kernel/assert.ts";
import { Closed, Count, DateTime, Uuid } from "../body/commonSchemas.ts";

/** Who reported what became of a message. */
export const FeedbackSource = Type.String({
  description:
    "Who reported it: `return_path` (a mail to the envelope's address), `complaint_address`, `ses`, `postmark`, `api` or `simulator`.",
});

/** Who reported a bounce. */
export const BounceSource = Type.String({
  description:
    "`relay` when it refused the message at once; else who reported it later, as of `email.delivered`.",
});

/** What kind of complaint it was. */
export const FeedbackType = Type.String({
  description: "As providers name it (RFC 5965): `abuse`, `fraud`, `virus`, `opt-out` or `other`.",
});

/** One kind of entry of a timeline: the log's own event, under its name there. */
function entry<Name extends string, Facts extends TProperties>(type: Name, facts: Facts) {
  const sequence = Count("The event's revision in the message's stream.");
  return Closed({ type: Type.Literal(type), at: DateTime, sequence, ...facts });
}

const attempt = Type.Integer({ minimum: 1 });

const reason = Type.String();

const relay = Type.Optional(
  Type.String({ description: "Host and port of the relay, where SMTP_URL names several." }),
);

const relayAnswer = {
  relay,
  code: Type.Optional(Type.Integer({ description: "The relay's reply code (RFC 5321)." })),
  enhanced_code: Type.Optional(
    Type.String({ description: "The relay's enhanced status code (RFC 3463), such as `5.1.1`." }),
  ),
  reply: Type.Optional(
    Type.String({
      description:
        "What the relay said, `<recipient>` and `<sender>` in place of the addresses. Absent once the content is erased.",
    }),
  ),
};

const erasure = {
  reason: Type.String({
    description: "`requested`, `retention`, or `person` with the request's `erasure_id`.",
  }),
  erasure_id: Type.Optional(Uuid),
};

export const TimelineEntry = Type.Union(
  [
    entry("content_stored", {}),
    entry("queued", {}),
    entry("scheduled", { scheduled_at: DateTime }),
    entry("rescheduled", { scheduled_at: DateTime }),
    entry("suppressed", { reason, attempt: Type.Optional(attempt) }),
    entry("delivery_started", { attempt, transport: Type.String(), lease_ms: Type.Integer({ minimum: 1 }) }),
    entry("sent", {
      attempt,
      transport: Type.String(),
      relay,
      reply: Type.String({ description: "What the relay said; its codes alone once the content is erased." }),
      relay_id: Type.Optional(
        Type.String({ description: "The relay's own id of the message, where its answer has one." }),
      ),
    }),
    entry("deferred", {
      attempt,
      reason,
      ambiguous: Type.Boolean({ description: "Whether the relay may have the message all the same." }),
      attempt_burnt: Type.Boolean({ description: "False when the fault was the relay's or ours." }),
      next_attempt_at: DateTime,
      ...relayAnswer,
    }),
    entry("delivered", { attempt, source: FeedbackSource }),
    entry("bounced", { attempt, reason, source: BounceSource, ...relayAnswer }),
    entry("complained", { attempt, feedback_type: FeedbackType, source: FeedbackSource }),
    // A message whose time was over may never have been tried.
    entry("failed", { attempt: Count(), reason, ...relayAnswer }),
    entry("canceled", {}),
    entry("attachments_expired", {}),
    entry("content_erasure_requested", erasure),
    entry("content_erased", erasure),
  ],
  { $id: "TimelineEntry" },
);

/** What an event adds to the timeline beside its name, time and sequence: no field that a newer version may add. */
function timelineFacts(event: EmailEvent): { readonly type: string } & Record<string, unknown> {
  switch (event.type) {
    case "EmailContentStored":
      return { type: "content_stored" };
    case "EmailQueued":
      return { type: "queued" };
    case "EmailScheduled":
      return { type: "scheduled", scheduled_at: event.data.scheduledAt };
    case "EmailRescheduled":
      return { type: "rescheduled", scheduled_at: event.data.scheduledAt };
    case "EmailSuppressed":
      return { type: "suppressed", reason: event.data.reason, attempt: event.data.attempt };
    case "EmailDeliveryStarted": {
      const { attempt, transport, leaseMs } = event.data;
      return { type: "delivery_started", attempt, transport, lease_ms: leaseMs };
    }
    case "EmailSent": {
      const { attempt, transport, relay, reply, relayId } = event.data;
      return { type: "sent", attempt, transport, relay, reply, relay_id: relayId };
    }
    case "EmailDeferred": {
      const { attempt, reason, ambiguous, attemptBurnt, nextAttemptAt } = event.data;
      const facts = { attempt, reason, ambiguous, ...answerFacts(event.data) };
      return { type: "deferred", ...facts, attempt_burnt: attemptBurnt, next_attempt_at: nextAttemptAt };
    }
    case "EmailDelivered":
      return { type: "delivered", attempt: event.data.attempt, source: event.data.source };
    case "EmailComplained": {
      const { attempt, feedbackType, source } = event.data;
      return { type: "complained", attempt, feedback_type: feedbackType, source };
    }
    case "EmailBounced": {
      const { attempt, reason, source = "relay" } = event.data;
      return { type: "bounced", attempt, reason, source, ...answerFacts(event.data) };
    }
    case "EmailFailed": {
      const { attempt, reason } = event.data;
      return { type: "failed", attempt, reason, ...answerFacts(event.data) };
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

function answerFacts({ relay, code, enhancedCode, reply }: Answered) {
  return { relay, code, enhanced_code: enhancedCode, reply };
}

function erasureFacts({ reason, erasureId }: ErasureReason) {
  return { reason, ...(erasureId === undefined ? {} : { erasure_id: erasureId }) };
}

/** An event of a message's history as an entry of its timeline. */
export function timelineJson({ sequence, at, event }: HistoryEvent) {
  const { type, ...facts } = timelineFacts(event);
  return { type, at, sequence, ...facts };
}
