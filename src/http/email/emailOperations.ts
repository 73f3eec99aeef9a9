import { type Static, Type } from "@sinclair/typebox";
import {
  METADATA_INDEXED_MAX,
  METADATA_KEY_CHARACTERS_MAX,
  METADATA_TEXT_CHARACTERS_MAX,
  TAG_CHARACTERS_MAX,
} from "../../domain/email/contentLimits.ts";
import { EMAIL_REASONS } from "../../domain/email/emailReasons.ts";
import { SCHEDULE_AHEAD_MS_MAX } from "../../domain/email/scheduledTime.ts";
import { EMAIL_STATUSES } from "../../domain/email/state.ts";
import { ADDRESS_CHARACTERS_MAX } from "../../kernel/text/emailAddress.ts";
import { DAY_MS, rfc3339, utcDay } from "../../kernel/time.ts";
import { ApiKeyId } from "../apiKey/apiKeyResource.ts";
import { Closed, FreeText, Id, ListText, NamedTexts, Text, Time, TimeText } from "../body/commonSchemas.ts";
import { withTextFault } from "../body/validation.ts";
import { answersPage, CREATED_RANGE, listQuery } from "../lists/listOperation.ts";
import { nearestFilterValue } from "../lists/nearestFilterValue.ts";
import { answersAccepted, answersOk, operationsOf } from "../server/operation.ts";
import type { ProblemCode } from "../server/problemCodes.ts";
import { CanceledEmails } from "./cancelEmails.ts";
import { EmailBatch, EmailBatchBody } from "./emailBatch.ts";
import { Email, EmailReceipt, EmailSummary } from "./emailResource.ts";
import { IdempotencyKeyHeader, idempotencyKeyOf, refuseIdempotencyKey } from "./idempotencyKey.ts";
import { SendEmailBody } from "./sendEmailSchema.ts";

const SendAgainBody = Closed(
  {
    to: Type.Optional(
      Text({
        maxLength: ADDRESS_CHARACTERS_MAX,
        description:
          "Another recipient, which needs the scope `email:read` too. By default the recipient of the message.",
      }),
    ),
  },
  { examples: [{}] },
);

/** Why the content of a message is not accepted as a new one, however it comes. */
const CONTENT_PROBLEMS = [
  "IDEMPOTENCY_KEY_REQUIRED",
  "IDEMPOTENCY_CONFLICT",
  "SENDER_UNAVAILABLE",
  "SENDING_PAUSED",
  "ATTACHMENT_EXPIRED",
  "ATTACHMENT_TYPE_UNSUPPORTED",
  "STORAGE_LIMIT_EXCEEDED",
  "DAILY_LIMIT_REACHED",
] as const satisfies readonly ProblemCode[];

const GetEmailQuery = Closed({
  as_of: Type.Optional(
    TimeText(
      "RFC 3339: the message as it was then, status and timeline up to the first event that is later. Content that was erased since stays erased. NOT_FOUND when it had not been accepted.",
    ),
  ),
});

/** One of these values, or several with commas between. */
function AnyOf(values: readonly string[], description: string) {
  const rule = `must be one of ${values.join(", ")}, or several of them with commas between`;
  const faultIn = (text: string) => {
    const meant = nearestFilterValue(values, text.split(","));
    if (meant === null) return { message: rule, summary: "has no such value: errors lists those there are" };
    const hint = `is not known here: did you mean ${meant}?`;
    return { message: `${hint} It ${rule}`, summary: hint };
  };
  return withTextFault(faultIn, ListText(values, description));
}

/** The pairs of metadata in one request. */
const METADATA_PAIRS_MAX = 5;

/** The filters that name one message. */
const oneMessage = {
  idempotency_key: Type.Optional(
    Type.String({
      minLength: 1,
      description: "The one message accepted under this key, where the other filters want it too.",
    }),
  ),
  message_id: Type.Optional(
    Type.String({
      minLength: 1,
      description: "The one message with this Message-ID, with or without angle brackets, as for a key.",
    }),
  ),
};

const filters = {
  status: Type.Optional(
    AnyOf(EMAIL_STATUSES, "Messages with this status, or with one of several: `bounced,failed`."),
  ),
  reason: Type.Optional(
    AnyOf(
      EMAIL_REASONS,
      "Messages that are `deferred`, `bounced`, `failed` or `suppressed` for this reason, or for one of several: `mailbox_full,no_route`.",
    ),
  ),
  from: Type.Optional(FreeText("Messages from this address.")),
  to: Type.Optional(FreeText("Messages to this address.")),
  template_id: Type.Optional(Id("Messages made from this template.")),
  template_version_id: Type.Optional(Id("Messages made from this version of a template.")),
  api_key_id: Type.Optional({ ...ApiKeyId, description: "Messages sent with this API key." }),
  tag: Type.Optional(
    Text({ minLength: 1, maxLength: TAG_CHARACTERS_MAX, description: "Messages with this tag." }),
  ),
  metadata: Type.Optional(
    NamedTexts(Text({ minLength: 1, maxLength: METADATA_TEXT_CHARACTERS_MAX }), {
      nameCharactersMax: METADATA_KEY_CHARACTERS_MAX,
      maxProperties: METADATA_PAIRS_MAX,
      description: `Messages with all of these pairs in their metadata, \`metadata[order]=4711\`: ${METADATA_PAIRS_MAX} at most. Numbers and booleans are found by their text. Of a message, the first ${METADATA_INDEXED_MAX} pairs count, until its content is erased. Needs the scope \`email:read\`.`,
    }),
  ),
  ...CREATED_RANGE,
};

const RESCHEDULE_EXAMPLE = {
  /** Noon in a week from now, read whenever a document is written: a fixed time would be refused one day. */
  get scheduled_at() {
    return `${utcDay(rfc3339(Date.now() + 7 * DAY_MS))}T12:00:00Z`;
  },
};

const RescheduleBody = Closed(
  {
    scheduled_at: Time(`RFC 3339, at most ${SCHEDULE_AHEAD_MS_MAX / DAY_MS} days ahead.`),
  },
  { examples: [RESCHEDULE_EXAMPLE] },
);

export const emailOperations = operationsOf("Emails", {
  sendEmail: {
    summary: "Send an email",
    description:
      "Accepts one message to one recipient. 202 means that it is durably in the log. The same Idempotency-Key with the same content gets the first answer again, with `Idempotent-Replayed: true`. A message to a suppressed recipient is accepted as `suppressed` and not delivered. With a test key nothing leaves the service.",
    headers: IdempotencyKeyHeader,
    checkHeaders: idempotencyKeyOf,
    body: SendEmailBody,
    ...answersAccepted(
      EmailReceipt,
      ...CONTENT_PROBLEMS,
      "TEMPLATE_UNAVAILABLE",
      "INVALID_TEMPLATE_DATA",
      "ATTACHMENT_NOT_READY",
      "ATTACHMENT_LIMIT_EXCEEDED",
      "ATTACHMENT_INVALID",
    ),
  },
  sendEmailBatch: {
    summary: "Send up to 100 emails",
    description:
      "Each send has its own `idempotency_key`, and is checked, accepted or refused as if it had come alone: a refusal stops none of the others, and a repeat of the batch repeats the answers. The pointers of a problem lead into its own send, and its `retry_after` says when to repeat that send. A header Idempotency-Key is refused. Counts once in the rate limit; each message counts in the daily limit.",
    checkHeaders: refuseIdempotencyKey,
    body: EmailBatchBody,
    ...answersOk(EmailBatch),
  },
  listEmails: {
    summary: "List emails",
    description:
      "Newest first. With `idempotency_key` it looks up the one message accepted under that key. A test key reaches only test mail, every other key only live mail. Without the scope `email:read` subjects are null.",
    ...answersPage(EmailSummary, { ...oneMessage, ...filters }),
  },
  getEmail: {
    summary: "Read an email",
    description:
      "As it is now, or as it was at a time in the past. With the scope `email:status` alone it has everything except what the message says: `subject`, `html`, `text`, `headers`, `metadata` and the `filename` of files are null, `content_id` is absent, and of the relay's replies there are only the codes.",
    ...answersOk(Email, "NOT_FOUND"),
    query: GetEmailQuery,
  },
  rescheduleEmail: {
    summary: "Deliver a scheduled email at another time",
    description:
      "Possible until its first attempt begins, and only to a time before its `deliver_before`. The present, or a time in the last hour, means at once. A repeat gets the same answer.",
    body: RescheduleBody,
    ...answersOk(Email, "NOT_FOUND", "EMAIL_NOT_SCHEDULED"),
  },
  cancelEmail: {
    summary: "Cancel an email that waits",
    description:
      "A message that is already canceled is answered as it is. One that the relay may have, because the outcome of an " +
      "attempt is not known (`ambiguous` in its timeline), cannot be canceled.",
    ...answersOk(Email, "NOT_FOUND", "EMAIL_NOT_CANCELABLE"),
  },
  cancelEmails: {
    summary: "Cancel the emails that wait and match",
    description:
      "Takes the filters of the list, at least one of them, and cancels up to `limit` messages a call, each as if it were " +
      "canceled alone. Repeat it with `next_cursor` as `cursor` until that is null. Needs the scope `email:status` too, " +
      "because it finds what the list finds.",
    ...answersOk(CanceledEmails),
    query: listQuery(filters),
  },
  tryEmailNow: {
    summary: "Deliver an email that waits for a time now",
    description:
      "Ends the wait of a `deferred` message for its next attempt, and of a `scheduled` one for its time. One whose " +
      "outcome is not known (`delivery_unknown`) may be delivered twice then; the copy has the same Message-ID. A " +
      "message that is due already, or being delivered, is answered as it is; one that has ended is refused.",
    ...answersOk(Email, "NOT_FOUND", "EMAIL_NOT_SCHEDULED"),
  },
  sendEmailAgain: {
    summary: "Send the content of an email again",
    description:
      "Accepts it as a new message with its own id and timeline, whatever became of the old one, with every check of a " +
      "send. A recipient who has the old one gets it again. The new message's own Idempotency-Key is " +
      "`again:<id>:<your key>`. The same Idempotency-Key for the same message gets the first answer again, with " +
      "`Idempotent-Replayed: true`.",
    headers: IdempotencyKeyHeader,
    checkHeaders: idempotencyKeyOf,
    body: SendAgainBody,
    isBodyOptional: true,
    ...answersAccepted(EmailReceipt, "NOT_FOUND", ...CONTENT_PROBLEMS),
  },
  eraseEmailContent: {
    summary: "Erase the content of an email",
    description:
      "Addresses, subject, bodies, variables, metadata and files go for good; that there was a message, and what became " +
      "of it, stays, and its Idempotency-Key answers as before. A message that waits is canceled with it. Content is " +
      "erased by itself `content_retention_days` after acceptance, or as its `content_retention` says. A repeat changes " +
      "nothing.",
    ...answersOk(Email, "NOT_FOUND"),
    also: [
      {
        status: 202,
        schema: Email,
        description:
          "The message is being delivered: its content is erased as soon as this attempt has ended.",
      },
    ],
  },
});

export type ListEmailsQuery = Static<typeof emailOperations.listEmails.query>;
