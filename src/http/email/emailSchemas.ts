import { type Static, type TProperties, Type } from "@sinclair/typebox";
import { WAITING_REASONS } from "../../domain/email/waitingReason.ts";
import { ADDRESS_CHARACTERS_MAX } from "../../kernel/text/emailAddress.ts";
import {
  AnyName,
  Cursor,
  DateTime,
  DirectAttachment,
  Limit,
  NoQuery,
  Nullable,
  pageSchema,
  Text,
  UploadId,
  Uuid,
} from "../body/commonSchemas.ts";
import type { Operations } from "../server/operation.ts";

/** The send operation's body (spec: Email request). Rules that span fields are in `http/sendRequest.ts`. */
export const SendEmailBody = Type.Object(
  {
    from: Text({ maxLength: ADDRESS_CHARACTERS_MAX, description: "A verified Sending Address." }),
    to: Text({ maxLength: ADDRESS_CHARACTERS_MAX, description: "Exactly one recipient." }),
    reply_to: Type.Optional(
      Text({ maxLength: ADDRESS_CHARACTERS_MAX, description: "Where replies to this message go." }),
    ),
    subject: Type.Optional(
      Text({
        minLength: 1,
        maxLength: 998,
        description: "Required without `template_id`; not used with it.",
      }),
    ),
    html: Type.Optional(
      Text({
        maxLength: 500_000,
        description: "Without `template_id`, this or `text` is required; not used with it.",
      }),
    ),
    text: Type.Optional(
      Text({
        maxLength: 200_000,
        description: "Without `template_id`, this or `html` is required; not used with it.",
      }),
    ),
    template_id: Type.Optional(
      Type.String({ format: "uuid", description: "A published template of the workspace: the content." }),
    ),
    template_version_id: Type.Optional(
      Type.String({
        format: "uuid",
        description: "Pins a published version; without it the current one is used.",
      }),
    ),
    variables: Type.Optional(
      Type.Record(AnyName, Type.Unknown(), {
        description:
          "Values for the template's variables; 100,000 characters as compact JSON at most. What the template does not declare is ignored, so that senders need not change together with templates.",
      }),
    ),
    metadata: Type.Optional(
      Type.Record(AnyName, Type.Union([Text({ maxLength: 500 }), Type.Number(), Type.Boolean()]), {
        description: "Correlation values; names of up to 80 characters, 16,000 bytes encoded at most.",
      }),
    ),
    attachments: Type.Optional(
      Type.Array(Type.Union([UploadId, DirectAttachment]), {
        description:
          "Uploaded attachments by id and files sent inline, delivered in this order: 10 at most, 10,000,000 bytes in all.",
      }),
    ),
  },
  {
    additionalProperties: false,
    examples: [
      { from: "hello@example.com", to: "ana@example.com", subject: "Your order", text: "It is on its way." },
    ],
  },
);
export type SendEmailBody = Static<typeof SendEmailBody>;

/** Where a message stands. */
export const EmailStatus = Type.Union(
  (["queued", "sending", "deferred", "sent", "bounced", "failed", "suppressed", "canceled"] as const).map(
    (status) => Type.Literal(status),
  ),
);

export const ListEmailsQuery = Type.Object(
  {
    idempotency_key: Type.Optional(
      Type.String({
        description: "The one message accepted under this key; other parameters are then unused.",
      }),
    ),
    status: Type.Optional(EmailStatus),
    from: Type.Optional(Type.String({ description: "Messages from this address." })),
    to: Type.Optional(Type.String({ description: "Messages to this address." })),
    created_from: Type.Optional(Type.String({ description: "RFC 3339; included." })),
    created_before: Type.Optional(Type.String({ description: "RFC 3339; not included." })),
    limit: Type.Optional(Limit),
    cursor: Type.Optional(Cursor),
  },
  { additionalProperties: false },
);
export type ListEmailsQuery = Static<typeof ListEmailsQuery>;

export const GetEmailQuery = Type.Object(
  {
    as_of: Type.Optional(
      Type.String({
        description:
          "RFC 3339: the message as it was then, status and timeline up to the first event that is later. Content that was erased since stays erased. NOT_FOUND when it had not been accepted.",
      }),
    ),
  },
  { additionalProperties: false },
);

const IdempotencyKeyHeader = Type.Object({
  "Idempotency-Key": Type.String({
    pattern: "^[ -~]{8,200}$",
    description:
      "8 to 200 printable ASCII characters, no comma followed by a space among them: that is how a header sent twice reads. One key, one message, for as long as the log exists.",
  }),
});

const EmailReceipt = Type.Object(
  {
    id: Uuid,
    object: Type.Literal("email"),
    status: Type.Union([Type.Literal("queued"), Type.Literal("suppressed")]),
    created_at: DateTime,
  },
  { $id: "EmailReceipt", additionalProperties: false, description: "An accepted message." },
);

const NullableText = Nullable(Type.String());

const summaryFields = {
  id: Uuid,
  object: Type.Literal("email"),
  status: EmailStatus,
  created_at: DateTime,
  updated_at: DateTime,
  from: NullableText,
  to: NullableText,
  subject: NullableText,
  attempts: Type.Integer({ minimum: 0, description: "How often a delivery was begun." }),
};

const EmailSummary = Type.Object(summaryFields, {
  $id: "EmailSummary",
  additionalProperties: false,
  description:
    "A message in a list; addresses and subject are null once its content is erased, or while it cannot be read.",
});

/** One kind of entry of a timeline: the log's own event, under its name there. */
function entry<Name extends string, Facts extends TProperties>(type: Name, facts: Facts) {
  const sequence = Type.Integer({ minimum: 0, description: "The event's revision in the message's stream." });
  return Type.Object(
    { type: Type.Literal(type), at: DateTime, sequence, ...facts },
    { additionalProperties: false },
  );
}

const attempt = Type.Integer({ minimum: 1 });
const reason = Type.String();
const relayAnswer = {
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

const TimelineEntry = Type.Union(
  [
    entry("content_stored", {}),
    entry("queued", {}),
    entry("suppressed", { reason, attempt: Type.Optional(attempt) }),
    entry("delivery_started", { attempt, transport: Type.String(), lease_ms: Type.Integer({ minimum: 1 }) }),
    entry("sent", {
      attempt,
      transport: Type.String(),
      reply: Type.String({ description: "What the relay said; its codes alone once the content is erased." }),
      relay_id: Type.Optional(
        Type.String({ description: "What the relay calls the message, where its answer tells it." }),
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
    entry("bounced", { attempt, reason, ...relayAnswer }),
    // A message whose time was over may never have been tried.
    entry("failed", { attempt: Type.Integer({ minimum: 0 }), reason, ...relayAnswer }),
    entry("canceled", {}),
    entry("attachments_expired", {}),
    entry("content_erasure_requested", erasure),
    entry("content_erased", erasure),
  ],
  { $id: "TimelineEntry" },
);

const Waiting = Type.Object(
  {
    reason: Type.Union(
      WAITING_REASONS.map((name) => Type.Literal(name)),
      {
        description:
          "`in_queue`: it is due. `being_delivered`: a worker is at it. `retry_scheduled`: the last attempt was put off. `relay_unavailable`: the relay takes no mail, and no attempt is counted. `sending_paused`, `sender_unavailable`: until the workspace or the sender sends again. `delivery_unknown`: the relay may have it. `held_after_restore`: until the operator resumes. `delivery_off`, `disk_full`: of the instance that answers.",
      },
    ),
    until: Nullable(DateTime),
    detail: Type.String({ description: "For people." }),
  },
  {
    $id: "Waiting",
    additionalProperties: false,
    description:
      "Why the message has not ended, as the instance that answers knows it, and until when where a time is known. Null once it has ended, and with `as_of`.",
  },
);

const Email = Type.Object(
  {
    ...summaryFields,
    reply_to: NullableText,
    html: NullableText,
    text: NullableText,
    template_id: Nullable(Uuid),
    template_version_id: Nullable(Uuid),
    attachments: Type.Array(
      Type.Object(
        {
          filename: Type.String(),
          content_type: Type.String(),
          size_bytes: Type.Integer({ minimum: 1 }),
          expired: Type.Boolean({
            description: "Whether the bytes are gone; a message keeps them until it ends.",
          }),
        },
        { additionalProperties: false },
      ),
    ),
    metadata: Type.Union([
      Type.Record(AnyName, Type.Union([Type.String(), Type.Number(), Type.Boolean()])),
      Type.Null(),
    ]),
    next_attempt_at: Nullable(DateTime),
    waiting: Nullable(Waiting),
    content_erased: Type.Boolean({
      description:
        "Then addresses, subject, bodies and metadata are null and attachments empty, for good. The key still answers.",
    }),
    timeline: Type.Array(TimelineEntry, { description: "The log itself, in order." }),
  },
  { $id: "Email", additionalProperties: false, description: "A message whole, with its timeline." },
);

/** The operations under /api/v1/emails. */
export const emailOperations = {
  sendEmail: {
    summary: "Send an email",
    description:
      "Accepts one message to one recipient. 202 means that it is durably in the log. The same Idempotency-Key with the same content gets the first answer again, with `Idempotent-Replayed: true`. A message to a suppressed recipient is accepted as `suppressed` and not delivered.",
    tag: "Emails",
    headers: IdempotencyKeyHeader,
    body: SendEmailBody,
    success: { status: 202, schema: EmailReceipt },
    problems: [
      "IDEMPOTENCY_KEY_REQUIRED",
      "IDEMPOTENCY_CONFLICT",
      "SENDER_UNAVAILABLE",
      "SENDING_PAUSED",
      "TEMPLATE_UNAVAILABLE",
      "INVALID_TEMPLATE_DATA",
      "ATTACHMENT_NOT_READY",
      "ATTACHMENT_EXPIRED",
      "ATTACHMENT_LIMIT_EXCEEDED",
      "ATTACHMENT_INVALID",
      "ATTACHMENT_TYPE_UNSUPPORTED",
      "STORAGE_LIMIT_EXCEEDED",
      "DAILY_LIMIT_REACHED",
    ],
  },
  listEmails: {
    summary: "List emails",
    description: "Newest first. With `idempotency_key` it looks up the one message accepted under that key.",
    tag: "Emails",
    query: ListEmailsQuery,
    success: { status: 200, schema: pageSchema(EmailSummary) },
    problems: [],
  },
  getEmail: {
    summary: "Read an email",
    description: "As it is now, or as it was at a moment of the past.",
    tag: "Emails",
    query: GetEmailQuery,
    success: { status: 200, schema: Email },
    problems: ["NOT_FOUND"],
  },
  cancelEmail: {
    summary: "Cancel an email that waits",
    description: "A message that is canceled already is answered as it is.",
    tag: "Emails",
    query: NoQuery,
    success: { status: 200, schema: Email },
    problems: ["NOT_FOUND", "EMAIL_NOT_CANCELABLE"],
  },
  eraseEmailContent: {
    summary: "Erase the content of an email",
    description:
      "Addresses, subject, bodies, variables, metadata and files go for good; that there was a message, and what became " +
      "of it, stays, and its Idempotency-Key answers as before. A message that waits is canceled with it. Content is " +
      "erased by itself `content_retention_days` after acceptance. A repeat changes nothing.",
    tag: "Emails",
    query: NoQuery,
    success: { status: 200, schema: Email },
    also: [
      {
        status: 202,
        schema: Email,
        description:
          "The message is being delivered: its content is erased as soon as this attempt has ended.",
      },
    ],
    problems: ["NOT_FOUND"],
  },
} satisfies Operations;
