import { Type } from "@sinclair/typebox";
import { WEBHOOK_EVENT_TYPES } from "../domain/webhook/events.ts";
import type { Operations } from "./operation.ts";
import { Cursor, DateTime, Limit, Text, Uuid } from "./schemas.ts";

export const RegisterWebhookBody = Type.Object(
  {
    url: Type.String({ description: "A public HTTPS URL on port 443." }),
    description: Type.Optional(Type.Union([Text({ maxLength: 500 }), Type.Null()])),
    event_types: Type.Optional(
      Type.Union([Type.Array(Type.String(), { minItems: 1, uniqueItems: true }), Type.Null()], {
        description: `Null or absent: all. Else some of ${WEBHOOK_EVENT_TYPES.join(", ")}.`,
      }),
    ),
  },
  { additionalProperties: false },
);

export const ListWebhooksQuery = Type.Object(
  { limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);

const endpointFields = {
  id: Uuid,
  object: Type.Literal("webhook_endpoint"),
  url: Type.String(),
  description: Type.Union([Type.String(), Type.Null()]),
  event_types: Type.Union(
    [Type.Array(Type.Union(WEBHOOK_EVENT_TYPES.map((type) => Type.Literal(type)))), Type.Null()],
    { description: "Null: all." },
  ),
  status: Type.Union([Type.Literal("active"), Type.Literal("disabled")]),
  disabled_reason: Type.Union([Type.String(), Type.Null()]),
  created_at: DateTime,
  updated_at: DateTime,
};

const WebhookEndpoint = Type.Object(endpointFields, {
  $id: "WebhookEndpoint",
  additionalProperties: false,
  description: "A webhook endpoint without its signing secret.",
});

const NewWebhookEndpoint = Type.Object(
  {
    ...endpointFields,
    secret: Type.String({
      pattern: "^whsec_[A-Za-z0-9+/]{43}=$",
      description: "Signs every delivery (Standard Webhooks). It is not shown again.",
    }),
  },
  { $id: "NewWebhookEndpoint", additionalProperties: false },
);

const WebhookEndpointList = Type.Object(
  {
    data: Type.Array(WebhookEndpoint, { maxItems: 100 }),
    next_cursor: Type.Optional(
      Type.Union([Type.String(), Type.Null()], { description: "Only with `limit` or `cursor`." }),
    ),
  },
  { additionalProperties: false },
);

/** The operations under /webhooks. */
export const webhookOperations = {
  listWebhooks: {
    summary: "List webhook endpoints",
    description: "Active and disabled ones, newest first. Without `limit` and `cursor`, all of them.",
    tag: "Webhooks",
    query: ListWebhooksQuery,
    success: { status: 200, schema: WebhookEndpointList },
    problems: [],
  },
  registerWebhook: {
    summary: "Register a webhook endpoint",
    tag: "Webhooks",
    body: RegisterWebhookBody,
    success: { status: 201, schema: NewWebhookEndpoint },
    problems: ["INVALID_WEBHOOK_URL", "WEBHOOK_ALREADY_EXISTS", "WEBHOOK_LIMIT_REACHED"],
  },
} satisfies Operations;
