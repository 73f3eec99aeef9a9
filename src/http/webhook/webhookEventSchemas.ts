import { type TProperties, Type } from "@sinclair/typebox";
import { WEBHOOK_EVENT_TYPES, type WebhookEventType } from "../../domain/webhookEventTypes.ts";
import { pascalCase } from "../../kernel/text/capitalized.ts";
import {
  AnyName,
  Closed,
  DateTime,
  Discriminated,
  FreeText,
  Id,
  Nullable,
  Time,
  Uuid,
} from "../body/commonSchemas.ts";
import { EmailStatus } from "../email/emailResource.ts";
import {
  BounceSource,
  EnhancedCode,
  FeedbackSource,
  FeedbackType,
  RelayId,
  ReplyCode,
  SentSource,
} from "../email/emailTimeline.ts";
import { SuppressionReason } from "../suppression/suppressionResource.ts";
import { DisabledReason } from "./webhookEndpointResource.ts";

/** The version of every payload. Additions keep it; a change or removal raises it. */
const PAYLOAD_VERSION = 1;

/** One type of event: when it is sent, and its `data`. */
interface WebhookEventFacts {
  readonly summary: string;
  readonly data: TProperties;
}

const attempt = Type.Integer({ minimum: 0, description: "Which attempt it was; 0 when there was none." });
const sequence = (of: string) =>
  Type.Integer({ minimum: 0, description: `Grows with every event of ${of}: the later one has the larger.` });

const Included = Nullable(Type.String(), {
  $id: "IncludedText",
  description:
    "Present only if the endpoint's `include` names it; null once it was erased. A subject ends with an ellipsis where the payload had no room for the rest.",
});

const email = {
  id: Uuid,
  object: Type.Literal("email"),
  status: EmailStatus,
  created_at: DateTime,
  test: Type.Boolean({ description: "Whether a test key has sent it." }),
  sequence: sequence("the same message"),
  template_id: Nullable(Id("The template's; null when the send named none.")),
  template_version_id: Nullable(Id("The template version's; null when the send named no template.")),
  metadata: Nullable(
    Type.Record(AnyName, Type.Union([Type.String(), Type.Number(), Type.Boolean()]), {
      description: "As it came with the send; null when it had none, or once it was erased.",
    }),
  ),
  tags: Type.Array(Type.String(), { description: "Of the send; none once they were erased." }),
  from: Type.Optional(Included),
  to: Type.Optional(Included),
  subject: Type.Optional(Included),
};

const refusal = {
  attempt,
  reason: FreeText("Why, in one word of the timeline."),
  code: Nullable(ReplyCode),
  enhanced_code: Nullable(EnhancedCode),
  reply: Nullable(
    Type.String({
      maxLength: 500,
      description:
        "What the relay said, `<recipient>` and `<sender>` in place of the addresses. Null once the content is erased.",
    }),
  ),
};

const suppression = {
  id: Id("The suppression's."),
  object: Type.Literal("suppression"),
  address: Nullable(FreeText("The recipient; null once it was erased.")),
  sequence: sequence("the same address"),
};

const endpoint = {
  id: Id("The endpoint's."),
  object: Type.Literal("webhook_endpoint"),
  url: Nullable(FreeText("Null once the endpoint was deleted.")),
  sequence: sequence("the workspace's endpoints"),
};

const FACTS: Readonly<Record<WebhookEventType, WebhookEventFacts>> = {
  "email.queued": { summary: "A message was accepted and waits for its delivery", data: email },
  "email.scheduled": {
    summary: "A message was accepted and will be delivered at its time",
    data: { ...email, scheduled_at: DateTime },
  },
  "email.sent": {
    summary: "The relay has taken the message",
    data: {
      ...email,
      attempt,
      transport: FreeText(
        "`smtp`, `outbox` where mail is only written to files, or `simulator`; `unknown` where `source` is `operator`.",
      ),
      reply: Type.String({
        maxLength: 500,
        description:
          "What the relay said; only its codes once the content is erased. Empty where `source` is `operator`.",
      }),
      relay_id: Nullable(RelayId),
      source: Nullable(SentSource),
    },
  },
  "email.delivery_delayed": {
    summary: "An attempt did not deliver the message; it will be retried",
    data: { ...email, ...refusal, next_attempt_at: DateTime },
  },
  "email.delivered": {
    summary: "The message is in the mailbox, as its server or a provider says",
    data: { ...email, attempt, source: FeedbackSource },
  },
  "email.bounced": {
    summary: "The recipient's side permanently refused the message, possibly after the relay had taken it",
    data: { ...email, ...refusal, source: BounceSource },
  },
  "email.complained": {
    summary: "The recipient has reported the message",
    data: { ...email, attempt, feedback_type: FeedbackType, source: FeedbackSource },
  },
  "email.failed": {
    summary: "The message failed: refused because of our setup, expired, or its content was gone",
    data: { ...email, ...refusal },
  },
  "email.suppressed": {
    summary: "The message is not delivered, because its recipient is suppressed",
    data: {
      ...email,
      reason: FreeText(
        "`recipient_suppressed` when it was so at acceptance, `suppressed_since` when only later.",
      ),
    },
  },
  "email.canceled": { summary: "The message was canceled before its delivery", data: email },
  "suppression.created": {
    summary: "An address was suppressed",
    data: {
      ...suppression,
      reason: SuppressionReason,
      email_id: Nullable(Id("The message whose bounce or complaint led to it.")),
    },
  },
  "suppression.deleted": { summary: "An address is no longer suppressed", data: suppression },
  "webhook.disabled": {
    summary: "An endpoint of the workspace was disabled; sent to the others",
    data: { ...endpoint, reason: DisabledReason },
  },
  "webhook.test": {
    summary: "Somebody asked for a test; it goes to that endpoint alone, whatever it subscribes to",
    data: endpoint,
  },
};

function eventSchema(type: WebhookEventType) {
  const { data, summary: description } = FACTS[type];
  return Closed(
    {
      type: Type.Literal(type),
      version: Type.Literal(PAYLOAD_VERSION),
      timestamp: Time("When it happened, not when it is sent."),
      data: Closed(data),
    },
    { $id: `${pascalCase(type)}Event`, description },
  );
}

/** The schema of every payload, by type. `commands/webhookDelivery/webhookPayload` builds the payloads. */
export const webhookEvents = WEBHOOK_EVENT_TYPES.map((type) => {
  return { type, summary: FACTS[type].summary, schema: eventSchema(type) };
});

/** Any of the payloads. */
export const WebhookEventBody = Discriminated(
  "type",
  webhookEvents.map(({ schema }) => schema),
  { $id: "WebhookEvent", description: "What an endpoint is sent." },
);
