import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { HEADER_VALUE_CHARACTERS_MAX, HEADERS_MAX } from "../../domain/email/callerHeaders.ts";
import {
  ATTACHMENTS_BYTES_MAX,
  ATTACHMENTS_MAX,
  CONTENT_ID_CHARACTERS_MAX,
  HTML_CHARACTERS_MAX,
  METADATA_BYTES_MAX,
  METADATA_KEY_CHARACTERS_MAX,
  METADATA_TEXT_CHARACTERS_MAX,
  NAME_CHARACTERS_MAX,
  SUBJECT_CHARACTERS_MAX,
  TAG_CHARACTERS_MAX,
  TAGS_MAX,
  TEXT_CHARACTERS_MAX,
  VARIABLES_CHARACTERS_MAX,
} from "../../domain/email/contentLimits.ts";
import { DELIVER_BEFORE_MS_MAX } from "../../domain/email/delivery/deliverBefore.ts";
import { UNTIL_FINAL_STATUS } from "../../domain/email/events.ts";
import { SCHEDULE_AHEAD_MS_MAX } from "../../domain/email/scheduledTime.ts";
import { ADDRESS_CHARACTERS_MAX } from "../../kernel/text/emailAddress.ts";
import { grouped } from "../../kernel/text/readableNumbers.ts";
import { DAY_MS, HOUR_MS, rfc3339, utcDay } from "../../kernel/time.ts";
import { memberRules } from "../body/commonFaults.ts";
import { AnyName, Closed, DirectAttachment, Id, Text, Time, UploadId } from "../body/commonSchemas.ts";
import { withAdvice, withErrorText, withRules, withTextFault } from "../body/validation.ts";
import { Alias } from "../template/templateResource.ts";
import { IdempotencyKey } from "./idempotencyKey.ts";
import { ATTACHMENT_ADVICE, SEND_ADVICE } from "./otherProvidersMembers.ts";
import { sendFaults } from "./sendEmailFaults.ts";

/** A file inside a send, which the html may show. */
const SentAttachment = withAdvice(
  ATTACHMENT_ADVICE,
  Closed(
    {
      ...DirectAttachment.properties,
      content_id: Type.Optional(
        withErrorText(
          `must be 1 to ${CONTENT_ID_CHARACTERS_MAX} letters, digits or any of .@!#$%&'*+/=?^_\`{|}~-`,
          Type.String({
            pattern: `^[A-Za-z0-9.@!#$%&'*+/=?^_\`{|}~-]{1,${CONTENT_ID_CHARACTERS_MAX}}$`,
            description: "Shows the file in the html, which refers to it as `cid:<content_id>` (RFC 2392).",
          }),
        ),
      ),
    },
    { title: DirectAttachment.title ?? "", examples: [...DirectAttachment.examples] },
  ),
);

function Name(description: string) {
  return Type.Optional(Text({ minLength: 1, maxLength: NAME_CHARACTERS_MAX, description }));
}

const sendFields = {
  from: Text({ maxLength: ADDRESS_CHARACTERS_MAX, description: "A verified Sending Address." }),
  from_name: Name("Shown beside `from`; by default the sender's display name, if it has one."),
  to: Text({ maxLength: ADDRESS_CHARACTERS_MAX, description: "Exactly one recipient." }),
  to_name: Name("Shown beside `to`."),
  reply_to: Type.Optional(
    Text({ maxLength: ADDRESS_CHARACTERS_MAX, description: "Where replies to this message go." }),
  ),
  reply_to_name: Name("Shown beside `reply_to`, which it requires."),
  subject: Type.Optional(
    Text({
      minLength: 1,
      maxLength: SUBJECT_CHARACTERS_MAX,
      description: "Required without a template; not used with one.",
    }),
  ),
  html: Type.Optional(
    Text({
      maxLength: HTML_CHARACTERS_MAX,
      description: "Without a template, this or `text` is required; not used with one.",
    }),
  ),
  text: Type.Optional(
    Text({
      maxLength: TEXT_CHARACTERS_MAX,
      description: "Without a template, this or `html` is required; not used with one.",
    }),
  ),
  scheduled_at: Type.Optional(
    Time(
      `RFC 3339: delivers the message at this time, at most ${SCHEDULE_AHEAD_MS_MAX / DAY_MS} days ahead. A time in the last hour means at once.`,
    ),
  ),
  deliver_before: Type.Optional(
    Time(
      `RFC 3339: from then on no attempt to deliver the message begins, and if it still waits it fails as \`expired\`. At most ${DELIVER_BEFORE_MS_MAX / HOUR_MS} hours after the request, or after \`scheduled_at\`. Pauses do not move it.`,
    ),
  ),
  content_retention: Type.Optional(
    Type.Literal(UNTIL_FINAL_STATUS, {
      description:
        "Erases addresses, subject, bodies, variables, metadata, tags and files as soon as the message has its first final status. Without it the workspace's `content_retention_days` count.",
    }),
  ),
  auto_text: Type.Optional(
    Type.Boolean({
      description: "Generates the text from the html, the template's too, if there is none.",
    }),
  ),
  headers: Type.Optional(
    Type.Record(AnyName, Text({ minLength: 1, maxLength: HEADER_VALUE_CHARACTERS_MAX }), {
      description: `Headers of your own, ${HEADERS_MAX} at most: X-…, List-…, References, In-Reply-To, Auto-Submitted, Feedback-ID, Importance, Precedence.`,
    }),
  ),
  tags: Type.Optional(
    Type.Array(Text({ minLength: 1, maxLength: TAG_CHARACTERS_MAX }), {
      maxItems: TAGS_MAX,
      description:
        "What kind of mail it is: lists filter by them, usage counts by them, webhooks carry them.",
    }),
  ),
  template_id: Type.Optional(
    withTextFault(
      () => ({ message: "must be a UUID; the alias of a template goes into template_alias" }),
      Id("A published template of the workspace: the content."),
    ),
  ),
  template_alias: Type.Optional(Alias("The template by its alias, instead of `template_id`.")),
  template_version_id: Type.Optional(Id("Pins a published version; without it the current one is used.")),
  variables: Type.Optional(
    Type.Record(AnyName, Type.Unknown(), {
      description: `Values for the template's variables; ${grouped(VARIABLES_CHARACTERS_MAX)} characters as compact JSON at most. What the template does not declare is ignored, so that senders need not change together with templates.`,
    }),
  ),
  metadata: Type.Optional(
    Type.Record(
      AnyName,
      Type.Union([Text({ maxLength: METADATA_TEXT_CHARACTERS_MAX }), Type.Number(), Type.Boolean()]),
      {
        description: `Correlation values; names of up to ${METADATA_KEY_CHARACTERS_MAX} characters, ${grouped(METADATA_BYTES_MAX)} bytes encoded at most.`,
      },
    ),
  ),
  attachments: Type.Optional(
    Type.Array(Type.Union([UploadId, SentAttachment]), {
      description: `Uploaded attachments by id and files sent inline, delivered in this order: ${ATTACHMENTS_MAX} at most, ${grouped(ATTACHMENTS_BYTES_MAX)} bytes in all.`,
    }),
  ),
};

function sendRules<Schema extends TSchema>(schema: Schema, advice: Readonly<Record<string, string>>): Schema {
  return withRules(withAdvice(advice, schema), memberRules(sendFaults), { areCheckedLater: true });
}

const RESET_LINK_EXAMPLE = {
  from: "accounts@example.com",
  to: "ana@example.com",
  subject: "Reset your password",
  text: "https://example.com/reset/f3a9",
  tags: ["password-reset"],
  /** Noon of the next day, read whenever a document is written: a fixed time would be refused one day. */
  get deliver_before() {
    return `${utcDay(rfc3339(Date.now() + DAY_MS))}T12:00:00Z`;
  },
  content_retention: UNTIL_FINAL_STATUS,
};

export const SendEmailBody = sendRules(
  Closed(sendFields, {
    examples: [
      {
        from: "hello@example.com",
        to: "ana@example.com",
        subject: "Your order",
        text: "It is on its way.",
      },
      RESET_LINK_EXAMPLE,
    ],
  }),
  { ...SEND_ADVICE, idempotency_key: "it goes into the header Idempotency-Key" },
);

export type SendEmailBody = Static<typeof SendEmailBody>;

export const BatchedEmail = sendRules(
  Closed({ idempotency_key: IdempotencyKey, ...sendFields }),
  SEND_ADVICE,
);

export type BatchedEmail = Static<typeof BatchedEmail>;
