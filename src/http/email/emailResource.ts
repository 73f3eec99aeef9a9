import { Type } from "@sinclair/typebox";
import type { EmailRow } from "../../../projections/emails/queries.ts";
import { sendingKeyId } from "../../commands/email/emailHistory.ts";
import { ACCEPTED_AS, UNTIL_FINAL_STATUS } from "../../domain/email/events.ts";
import type { Receipt } from "../../domain/email/idempotency.ts";
import { messageIdOf } from "../../domain/email/messageId.ts";
import { EMAIL_STATUSES } from "../../domain/email/state.ts";
import { WAITING_REASONS, type Waiting as WaitingView } from "../../domain/email/waitingReason.ts";
import { rfc3339 } from "../../kernel/time.ts";
import {
  AnyName,
  Closed,
  Count,
  DateTime,
  FreeText,
  Nullable,
  OneOf,
  type ResponseOf,
  Time,
  Uuid,
} from "../body/commonSchemas.ts";
import { jsonOfSchema } from "../body/jsonOfSchema.ts";
import { TimelineEntry, timelineJson } from "./emailTimeline.ts";
import type { ShownEmail } from "./redactEmail.ts";

export const EmailStatus = OneOf(EMAIL_STATUSES);

export const EmailReceipt = Closed(
  {
    id: Uuid,
    object: Type.Literal("email"),
    status: OneOf(Object.values(ACCEPTED_AS)),
    created_at: DateTime,
  },
  { $id: "EmailReceipt", description: "An accepted message." },
);

/** The answer to a send. */
export function receiptJson({ id, status, acceptedAt }: Receipt): ResponseOf<typeof EmailReceipt> {
  return { id, object: "email", status, created_at: acceptedAt };
}

const NullableText = Nullable(Type.String());

/** What a message says; null too for a key that sees only what became of it. */
const WithheldText = Nullable(FreeText("Null without the scope `email:read`."));

const summaryFields = {
  id: Uuid,
  object: Type.Literal("email"),
  status: EmailStatus,
  reason: Nullable(
    FreeText(
      "Why it is `deferred`, `bounced`, `failed` or `suppressed`, in one word of the timeline; null in any other status.",
    ),
  ),
  created_at: DateTime,
  updated_at: Time("When the last event of its timeline happened, such as the erasure of its content."),
  from: NullableText,
  to: NullableText,
  subject: WithheldText,
  message_id: Nullable(
    FreeText(
      "Its Message-ID, the same in every attempt; some relays replace it. Null once the content is erased.",
    ),
  ),
  tags: Type.Array(Type.String(), { description: "None once the content is erased." }),
  template_id: Nullable(Uuid),
  api_key_id: Nullable(FreeText("The key with which it was sent.")),
  scheduled_at: Nullable(Time("What it is, or was, scheduled for; null: at once.")),
  next_attempt_at: Nullable(DateTime),
  attempts: Count("How many times a delivery was begun, whoever was at fault when it failed."),
};

export const EmailSummary = Closed(summaryFields, {
  $id: "EmailSummary",
  description:
    "A message in a list; addresses and subject are null once its content is erased. While it cannot be read, `template_id`, `api_key_id`, `scheduled_at` and `next_attempt_at` are null too, and `tags` empty. With the scope `email:status` alone the subject is always null.",
});

const summaryJson = jsonOfSchema(EmailSummary);

/**
 * A message in a list: addresses, subject and status. Null fields once the content is erased. A member of the state with
 * the schema's name needs no line here.
 */
export function emailSummaryJson(view: ShownEmail) {
  const { id, email, content, events } = view;
  const createdAt = rfc3339(email.acceptedAt);
  const updatedAt = events.at(-1)?.at ?? createdAt;
  const { from = null, to = null, subject = null, tags = [] } = content ?? {};
  const messageId = content && messageIdOf(id, content.from);
  const scheduledAt = email.scheduledAt === null ? null : rfc3339(email.scheduledAt);
  const nextAttemptAt = email.status === "deferred" ? rfc3339(email.nextAttemptAt) : null;
  const shown = { from, to, subject, messageId, tags: [...tags], apiKeyId: sendingKeyId(view) };
  return summaryJson({ ...email, id, createdAt, updatedAt, ...shown, scheduledAt, nextAttemptAt });
}

/** As {@link emailSummaryJson}, from the read model alone. */
export function rowSummaryJson(row: EmailRow) {
  const content = { from: null, to: null, subject: null, messageId: null, tags: [] };
  const unknown = { templateId: null, apiKeyId: null, scheduledAt: null, nextAttemptAt: null };
  return summaryJson({ ...row, ...content, ...unknown });
}

const Waiting = Closed(
  {
    reason: OneOf(WAITING_REASONS, {
      description:
        "`in_queue`: it is due. `being_delivered`: a worker is delivering it. `scheduled`: its time has not come yet. `retry_scheduled`: the last attempt was deferred. `relay_unavailable`: the relay takes no mail; it is tried again when the relay does. `content_store_unavailable`: the files or the content of the message cannot be read. `sending_paused`, `sender_unavailable`: until the workspace or the sender sends again. `delivery_unknown`: the relay may have it. `held_after_restore`: until the operator resumes. `delivery_off`, `disk_full`: on the instance that answers.",
    }),
    until: Nullable(DateTime),
    detail: FreeText("For people."),
  },
  {
    $id: "Waiting",
    description:
      "Why the message has not ended, as the answering instance knows it, and until when, if that is known. Null once it has ended, and with `as_of`.",
  },
);

function waitingJson({ reason, until, detail }: WaitingView): ResponseOf<typeof Waiting> {
  return { reason, until: until === null ? null : rfc3339(until), detail };
}

const Metadata = Type.Record(AnyName, Type.Union([Type.String(), Type.Number(), Type.Boolean()]));

export const Email = Closed(
  {
    ...summaryFields,
    from_name: Nullable(FreeText("As in From: the send's own, or else the sender's.")),
    to_name: NullableText,
    reply_to: NullableText,
    reply_to_name: NullableText,
    html: WithheldText,
    text: WithheldText,
    template_version_id: Nullable(Uuid),
    attachments: Type.Array(
      Closed({
        filename: WithheldText,
        content_type: Type.String(),
        size_bytes: Type.Integer({ minimum: 1 }),
        content_id: Type.Optional(FreeText("Its id in the html. Absent without the scope `email:read`.")),
        expired: Type.Boolean({
          description: "Whether the bytes are gone; a message keeps them until it ends.",
        }),
      }),
    ),
    headers: Nullable(
      Type.Record(AnyName, Type.String(), {
        description:
          "The caller's own headers, as they came with the send. Null without the scope `email:read`.",
      }),
    ),
    metadata: Nullable(Metadata, { description: "Null without the scope `email:read`." }),
    deliver_before: Nullable(
      Time(
        "From when no attempt begins, and it fails as `expired` if it still waits; null without such a time.",
      ),
    ),
    content_retention: Nullable(
      Type.Literal(UNTIL_FINAL_STATUS, {
        description: "As it came with the send; null: the workspace's `content_retention_days` count.",
      }),
    ),
    waiting: Nullable(Waiting),
    content_erased: Type.Boolean({
      description:
        "Then addresses, subject, bodies and metadata are null and attachments empty, for good. The key still answers. False while content is only withheld for want of the scope `email:read`.",
    }),
    timeline: Type.Array(TimelineEntry, { description: "The log itself, in order." }),
  },
  { $id: "Email", description: "A message whole, with its timeline." },
);

/** A whole message, with its timeline: the log itself, in order. */
export function emailJson(view: ShownEmail, waiting: WaitingView | null): ResponseOf<typeof Email> {
  const { email, content } = view;
  return {
    ...emailSummaryJson(view),
    from_name: content?.fromName ?? null,
    to_name: content?.toName ?? null,
    reply_to: content?.replyTo ?? null,
    reply_to_name: content?.replyToName ?? null,
    html: content?.html ?? null,
    text: content?.text ?? null,
    template_version_id: email.templateVersionId,
    attachments: (content?.attachments ?? []).map(({ filename, contentType, bytes, contentId }) => ({
      filename: filename ?? null,
      content_type: contentType,
      size_bytes: bytes,
      ...(contentId === undefined ? {} : { content_id: contentId }),
      expired: email.attachmentsExpired,
    })),
    headers: content?.headers ?? null,
    metadata: content?.metadata ?? null,
    deliver_before: email.deliverBefore === null ? null : rfc3339(email.deliverBefore),
    content_retention: email.isErasedAtEnd ? UNTIL_FINAL_STATUS : null,
    waiting: waiting && waitingJson(waiting),
    content_erased: email.contentErased,
    timeline: view.events.map(timelineJson),
  };
}
