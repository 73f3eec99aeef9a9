import { Type } from "@sinclair/typebox";
import { INCLUDABLE_MEMBERS } from "../../domain/webhook/includableMembers.ts";
import { WEBHOOK_EVENT_TYPES } from "../../domain/webhookEventTypes.ts";
import { Closed, DateTime, Nullable, OneOf, Uuid } from "../body/commonSchemas.ts";
import { jsonOfSchema } from "../body/jsonOfSchema.ts";

/** What a caller should know who asks for a call right after a repair. */
export const LEFT_ALONE = "If the endpoint kept failing, it may take half a minute.";

export const WebhookEventName = OneOf(WEBHOOK_EVENT_TYPES);

export const DisabledReason = OneOf(["manual", "failing", "gone"], {
  description: "`manual`: on request; `failing`: nothing got through for 120 hours; `gone`: it answered 410.",
});

const endpointFields = {
  id: Uuid,
  object: Type.Literal("webhook_endpoint"),
  url: Type.String(),
  description: Nullable(Type.String()),
  event_types: Nullable(Type.Array(WebhookEventName), { description: "Null: all." }),
  include: Type.Array(OneOf(INCLUDABLE_MEMBERS), {
    description: "What the `data` of its `email.*` events has as well; empty by default.",
  }),
  status: OneOf(["active", "disabled"]),
  disabled_reason: Nullable(DisabledReason),
  created_at: DateTime,
  updated_at: DateTime,
};

export const WebhookEndpoint = Closed(endpointFields, {
  $id: "WebhookEndpoint",
  description: "A webhook endpoint without its signing secret.",
});

export const NewWebhookEndpoint = Closed(
  {
    ...endpointFields,
    secret: Type.String({
      pattern: "^whsec_[A-Za-z0-9+/]{43}=$",
      examples: [`whsec_${"A".repeat(43)}=`],
      description: "Signs every delivery (Standard Webhooks). It is not shown again.",
    }),
  },
  { $id: "NewWebhookEndpoint" },
);

/** An endpoint as JSON, without its secret. */
export const endpointJson = jsonOfSchema(WebhookEndpoint);

export const WebhookTest = Closed({ object: Type.Literal("webhook_test"), delivery_id: Uuid });
