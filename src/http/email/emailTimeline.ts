import { type TObject, type TProperties, Type } from "@sinclair/typebox";
import type { LoggedEvent } from "../../commands/email/emailHistory.ts";
import { type EmailEvent, OPERATOR } from "../../domain/email/events.ts";
import { FEEDBACK_SOURCES } from "../../domain/email/feedback/feedbackDecision.ts";
import { keyIdOf } from "../../kernel/event/actor.ts";
import { pascalCase } from "../../kernel/text/capitalized.ts";
import { Closed, Count, DateTime, Discriminated, FreeText, Uuid } from "../body/commonSchemas.ts";
import { jsonOfSchema } from "../body/jsonOfSchema.ts";

export const FeedbackSource = FreeText(
  `Who reported it: \`${FEEDBACK_SOURCES.join("`, `")}\`. \`return_path\` is a mail to the envelope's address.`,
);

export const BounceSource = FreeText(
  "`relay` when it refused the message at once; else who reported it later, as of `email.delivered`.",
);

/** On whose word a message counts as sent. */
export const SentSource = Type.Literal(OPERATOR, {
  description:
    "The operator has recorded that it had been sent: the log lost the events that said so. When, and what the relay said, is not known.",
});

/** What kind of complaint it was. */
export const FeedbackType = FreeText(
  "As providers name it (RFC 5965): `abuse`, `fraud`, `virus`, `opt-out` or `other`.",
);

export const ReplyCode = Type.Integer({ description: "The relay's reply code (RFC 5321)." });
export const EnhancedCode = FreeText("The relay's enhanced status code (RFC 3463), such as `5.1.1`.");
export const RelayId = FreeText("The relay's own id of the message, if its answer has one.");

const apiKeyId = Type.Optional(FreeText("The API key that did it; absent if none did."));

/** One kind of timeline entry: an event of the log, under its public name. */
function entry<Name extends string, Facts extends TProperties>(type: Name, facts: Facts) {
  const sequence = Count("The event's revision in the message's stream.");
  return Closed(
    { type: Type.Literal(type), at: DateTime, sequence, api_key_id: apiKeyId, ...facts },
    { $id: `${pascalCase(type)}TimelineEntry` },
  );
}

const attempt = Type.Integer({ minimum: 1 });

const reason = Type.String();

const relay = Type.Optional(FreeText("Host and port of the relay, where SMTP_URL names several."));

const relayAnswer = {
  relay,
  code: Type.Optional(ReplyCode),
  enhanced_code: Type.Optional(EnhancedCode),
  reply: Type.Optional(
    FreeText(
      "What the relay said, `<recipient>` and `<sender>` in place of the addresses. Absent once the content is erased; only its codes without the scope `email:read`.",
    ),
  ),
};

const superseded = Type.Optional(
  Type.Boolean({
    description:
      "True for a late outcome that did not decide the message's status, because it had ended or the lease of the " +
      "attempt had expired: there is no webhook event for it. Otherwise absent.",
  }),
);

const erasure = {
  reason: FreeText(
    "`requested`, `retention`, `final_status` where the send has `content_retention`, or `person` with the request's `erasure_id`.",
  ),
  erasure_id: Type.Optional(Uuid),
};

const ENTRIES = {
  EmailContentStored: entry("content_stored", {}),
  EmailQueued: entry("queued", {}),
  EmailScheduled: entry("scheduled", { scheduled_at: DateTime }),
  EmailRescheduled: entry("rescheduled", { scheduled_at: DateTime }),
  EmailSuppressed: entry("suppressed", { reason, attempt: Type.Optional(attempt) }),
  EmailDeliveryStarted: entry("delivery_started", {
    attempt,
    transport: Type.String(),
    lease_ms: Type.Integer({ minimum: 1 }),
  }),
  EmailSent: entry("sent", {
    attempt: Count("0 where `source` is `operator`."),
    transport: FreeText("As of `email.sent`."),
    source: Type.Optional(SentSource),
    relay,
    reply: FreeText(
      "What the relay said; only its codes once the content is erased, or without the scope `email:read`.",
    ),
    relay_id: Type.Optional(RelayId),
    superseded,
  }),
  EmailDeferred: entry("deferred", {
    attempt,
    reason,
    ambiguous: Type.Boolean({ description: "Whether the relay may have taken the message nevertheless." }),
    attempt_burnt: Type.Boolean({
      description:
        "False when the fault was the relay's or ours: the attempt does not lengthen the waits between attempts.",
    }),
    next_attempt_at: DateTime,
    ...relayAnswer,
    superseded,
  }),
  EmailDelivered: entry("delivered", { attempt, source: FeedbackSource }),
  EmailBounced: entry("bounced", { attempt, reason, source: BounceSource, ...relayAnswer, superseded }),
  EmailComplained: entry("complained", { attempt, feedback_type: FeedbackType, source: FeedbackSource }),
  // A message that expired may never have been attempted.
  EmailFailed: entry("failed", { attempt: Count(), reason, ...relayAnswer, superseded }),
  EmailCanceled: entry("canceled", {}),
  EmailAttachmentsExpired: entry("attachments_expired", {}),
  EmailContentErasureRequested: entry("content_erasure_requested", erasure),
  EmailContentErased: entry("content_erased", erasure),
} as const satisfies Readonly<Record<EmailEvent["type"], TObject>>;

export const TimelineEntry = Discriminated("type", Object.values(ENTRIES), { $id: "TimelineEntry" });

type EntryJson = (members: object) => {
  readonly type: string;
  readonly at: string;
  readonly sequence: number;
};

const ENTRY_JSON = Object.fromEntries(
  Object.entries(ENTRIES).map(([type, schema]) => [type, jsonOfSchema<TObject>(schema)]),
) as Readonly<Record<EmailEvent["type"], EntryJson>>;

/** A history event as a timeline entry, with only the members that its schema names. */
export function timelineJson({ sequence, at, actor, event }: LoggedEvent) {
  // A bounce without a source is the relay's own answer.
  const data = event.type === "EmailBounced" ? { source: "relay", ...event.data } : event.data;
  return ENTRY_JSON[event.type]({ ...data, sequence, at, apiKeyId: keyIdOf(actor) ?? undefined });
}
