import { type Static, Type } from "@sinclair/typebox";
import { ADDRESS_CHARACTERS_MAX } from "../../kernel/text/emailAddress.ts";
import { addressFaults, fault, memberRules } from "../body/commonFaults.ts";
import { AnyName, Closed, FreeText, Id, OneOf, Text, Uuid } from "../body/commonSchemas.ts";
import { withErrorText, withRules } from "../body/validation.ts";
import { answersNoContent, answersOk, operationsOf } from "../server/operation.ts";

const MESSAGE_ID_CHARACTERS_MAX = 998;
const PROVIDER_ID_CHARACTERS_MAX = 200;
const REPLY_CHARACTERS_MAX = 4_000;

/** What happened to a message. */
const KINDS = ["delivered", "bounced", "complained"] as const;

const TellFeedbackBody = withRules(
  Closed(
    {
      email_id: Type.Optional(Id("The message, by its id here.")),
      message_id: Type.Optional(
        Text({
          minLength: 1,
          maxLength: MESSAGE_ID_CHARACTERS_MAX,
          description:
            "The message, by its Message-ID as this service wrote it, with or without angle brackets.",
        }),
      ),
      provider_id: Type.Optional(
        Text({
          minLength: 1,
          maxLength: PROVIDER_ID_CHARACTERS_MAX,
          description:
            "The message, by what the relay called it when it took it (`relay_id`), with `recipient`.",
        }),
      ),
      recipient: Type.Optional(
        Text({
          maxLength: ADDRESS_CHARACTERS_MAX,
          description: "With `provider_id`: the address that the message was sent to.",
        }),
      ),
      type: OneOf(KINDS),
      status: Type.Optional(
        withErrorText(
          "must be an enhanced status code such as 5.1.1",
          Type.String({
            pattern: "^[45]\\.\\d{1,3}\\.\\d{1,3}$",
            description: "Of a bounce: the enhanced status code (RFC 3463), such as `5.1.1`.",
          }),
        ),
      ),
      reply: Type.Optional(
        Text({
          maxLength: REPLY_CHARACTERS_MAX,
          description:
            "Of a bounce: what the recipient's server answered, such as `550 5.1.1 user unknown`. Addresses in it are replaced.",
        }),
      ),
      bounce: Type.Optional(
        OneOf(["permanent", "transient"], {
          description:
            "Of a bounce: what the provider calls it, if it does not pass the server's answer on. `permanent` suppresses " +
            "the address, unless `status` or `reply` gives another reason; `transient` never does.",
        }),
      ),
      feedback_type: Type.Optional(
        OneOf(["abuse", "fraud", "virus", "opt-out", "other"], {
          description: "Of a complaint (RFC 5965); `abuse` unless given.",
        }),
      ),
    },
    {
      examples: [
        {
          message_id: "<0d3f7a52-90d5-5d0c-8f5e-3d1b8a3f7c11@shop.example>",
          type: "bounced",
          status: "5.1.1",
          reply: "550 5.1.1 user unknown",
        },
      ],
    },
  ),
  memberRules(({ email_id: emailId, message_id: messageId, provider_id: providerId, recipient }) => {
    const names = [emailId, messageId, providerId].filter((name) => name !== undefined);
    if (names.length !== 1)
      return fault("/email_id", "is required, or message_id or provider_id instead: exactly one of them");
    if ((providerId === undefined) !== (recipient === undefined))
      return fault("/recipient", "must be given together with provider_id");
    return addressFaults("/recipient", recipient);
  }),
);

/** What Postmark sends, as far as we read it. */
const PostmarkCall = Type.Object(
  {
    RecordType: FreeText("`Bounce`, `Delivery`, `SpamComplaint`; others change nothing."),
    Type: Type.Optional(FreeText("Of a bounce: `HardBounce` and so on.")),
    Details: Type.Optional(FreeText("What the recipient's server said.")),
    Metadata: Type.Optional(Type.Record(AnyName, Type.Unknown())),
    Email: Type.Optional(FreeText("The recipient's address.")),
    Inactive: Type.Optional(
      Type.Boolean({ description: "Of a bounce: whether Postmark has deactivated the address." }),
    ),
  },
  {
    additionalProperties: true,
    examples: [
      {
        RecordType: "Bounce",
        Type: "HardBounce",
        Details: "smtp;550 5.1.1 user unknown",
        Metadata: { postledger_id: "0d3f7a52-90d5-5d0c-8f5e-3d1b8a3f7c11" },
      },
    ],
  },
);

function suppressUnmatched(description: string) {
  return Closed({ suppress_unmatched: Type.Optional(OneOf(["true", "false"], { description })) });
}

const PostmarkQuery = suppressUnmatched(
  "`true`: a hard bounce with `Inactive`, or a complaint, about mail that this service did not send suppresses " +
    "the address in the key's workspace. The key needs the scope `suppression:manage` too. `false` unless given.",
);

/** Of providers that name the workspace in the path. */
export const UnmatchedQuery = suppressUnmatched(
  "`true`: a hard bounce or a complaint about mail that this service did not send suppresses the address in " +
    "the workspace. `false` unless given.",
);

const FeedbackOutcome = Closed(
  {
    object: Type.Literal("feedback"),
    email_id: Uuid,
    outcome: OneOf(["recorded", "superseded"], {
      description:
        "`superseded`: what is known of the message already says as much or more, or it never left.",
    }),
  },
  { $id: "Feedback", description: "The result of a report on a message." },
);

export const feedbackOperations = operationsOf("Feedback", {
  tellFeedback: {
    summary: "Report what happened to a message",
    description:
      "For relays whose events come to you: that a message was delivered, bounced, or that its recipient has reported " +
      "it. Whether a bounce is the address's fault is read from `status`, `reply` and `bounce`; then, and for a complaint, the " +
      "address that the message was sent to is suppressed. A repeat changes nothing.",
    body: TellFeedbackBody,
    ...answersOk(FeedbackOutcome, "NOT_FOUND"),
  },
  takePostmarkEvent: {
    summary: "Take a webhook call of Postmark",
    description:
      "As Postmark makes it, with an API key in its `HttpHeaders`. The message is named by its metadata, which the " +
      "service adds for a relay with `provider=postmark`. What is not about a message of the key's workspace, or says " +
      "nothing about its end, is taken and changes nothing, so that Postmark does not repeat it.",
    body: PostmarkCall,
    ...answersNoContent(),
    query: PostmarkQuery,
  },
  takeSesNotification: {
    summary: "Take a notification of Amazon SES",
    description:
      "For Amazon SNS alone: the body is its message, as `text/plain`. It is taken when its topic is one of " +
      "SES_TOPIC_ARNS and Amazon has signed it; a subscription to such a topic is confirmed automatically. A repeat changes nothing. " +
      "503 if the store or Amazon's certificate is unavailable: SNS retries.",
    ...answersNoContent("INVALID_REQUEST", "NOT_FOUND", "PAYLOAD_TOO_LARGE"),
  },
  takeResendEvent: {
    summary: "Take a webhook call of Resend",
    description:
      "For Resend alone: the body is its event. It is taken when it is signed (`svix-id`, `svix-timestamp`, " +
      "`svix-signature`) with a secret in RESEND_WEBHOOK_SECRET, at most 5 minutes ago; without that setting the answer " +
      "is 404. The path names the workspace whose messages it is about. What matches none, or says nothing about the " +
      "end of a message, is taken and changes nothing.",
    ...answersNoContent("INVALID_REQUEST", "NOT_FOUND", "PAYLOAD_TOO_LARGE"),
    query: UnmatchedQuery,
  },
  takeMailgunEvent: {
    summary: "Take a webhook call of Mailgun",
    description:
      "For Mailgun alone: the body is its event, with a `signature` by a key in MAILGUN_WEBHOOK_SIGNING_KEY, at most " +
      "9 hours ago; without that setting the answer is 404. A `token` signs one body only. The path names the workspace " +
      "whose messages it is about. What matches none, or says nothing about the end of a message, is taken and changes " +
      "nothing. The answer is 200 without a body: Mailgun repeats a call after any other status.",
    query: UnmatchedQuery,
    success: { status: 200, schema: null },
    problems: ["NOT_FOUND", "PAYLOAD_TOO_LARGE"],
  },
  takeSendgridEvents: {
    summary: "Take a webhook call of SendGrid",
    description:
      "For SendGrid alone: the body is an array of its events. It is taken when it is signed " +
      "(`X-Twilio-Email-Event-Webhook-Signature` and `-Timestamp`) with a key in SENDGRID_VERIFICATION_KEY, at most " +
      "25 hours ago; without that setting the answer is 404. The path names the workspace whose messages they are " +
      "about. An event that matches none, or says nothing about the end of a message, is taken and changes nothing, " +
      "as does a call that was taken before. After a 5xx some events may be taken: SendGrid repeats all of them.",
    ...answersNoContent("INVALID_REQUEST", "NOT_FOUND", "PAYLOAD_TOO_LARGE"),
    query: UnmatchedQuery,
  },
});

export type TellFeedback = Static<typeof feedbackOperations.tellFeedback.body>;
