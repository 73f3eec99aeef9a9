import { type Static, Type } from "@sinclair/typebox";
import { WEBHOOK_EVENT_TYPES } from "../../domain/webhookEventTypes.ts";
import { Cursor, DateTime, Limit, NoQuery, Nullable, pageSchema, Uuid } from "../body/commonSchemas.ts";
import type { Operations } from "../server/operation.ts";
import { WebhookEventBody } from "../webhook/webhookEventSchemas.ts";

const DeliveryStatus = Type.Union(
  (["pending", "attempting", "delivered", "exhausted", "skipped"] as const).map((status) =>
    Type.Literal(status),
  ),
);
const EventType = Type.Union(WEBHOOK_EVENT_TYPES.map((type) => Type.Literal(type)));

export const ListWebhookDeliveriesQuery = Type.Object(
  {
    status: Type.Optional(DeliveryStatus),
    event_type: Type.Optional(EventType),
    created_from: Type.Optional(Type.String({ description: "RFC 3339; included." })),
    created_before: Type.Optional(Type.String({ description: "RFC 3339; not included." })),
    limit: Type.Optional(Limit),
    cursor: Type.Optional(Cursor),
  },
  { additionalProperties: false },
);
export type ListWebhookDeliveriesQuery = Static<typeof ListWebhookDeliveriesQuery>;

export const RecoverWebhookBody = Type.Object(
  {
    since: Type.Optional(
      Type.String({ description: "RFC 3339; at most 14 days ago, which is also what its absence means." }),
    ),
  },
  { additionalProperties: false, examples: [{}] },
);

const deliveryFields = {
  id: Type.String({ format: "uuid", description: "The `webhook-id` of every attempt." }),
  object: Type.Literal("webhook_delivery"),
  endpoint_id: Uuid,
  event_id: Uuid,
  event_type: EventType,
  status: DeliveryStatus,
  attempts: Type.Integer({ minimum: 0 }),
  next_attempt_at: Nullable(DateTime),
  created_at: DateTime,
  updated_at: DateTime,
};

const WebhookDelivery = Type.Object(deliveryFields, {
  $id: "WebhookDelivery",
  additionalProperties: false,
  description: "One event on its way to one endpoint.",
});

const WebhookAttempt = Type.Object(
  {
    attempt: Type.Integer({ minimum: 1 }),
    started_at: DateTime,
    outcome: Type.Union([Type.Literal("running"), Type.Literal("delivered"), Type.Literal("failed")]),
    ended_at: Nullable(DateTime),
    status_code: Type.Union([Type.Integer(), Type.Null()]),
    duration_ms: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
    reason: Type.Union([Type.String(), Type.Null()], {
      description:
        "Of a failure. `unreachable`: its name has no public address, or nothing there takes a connection with TLS; `tls`: its certificate was not accepted; `timeout`: no answer in time; `broken_answer`: the connection ended before the answer did; `status`: not 2xx; `redirected`: 3xx.",
    }),
    excerpt: Type.Union([Type.String(), Type.Null()], {
      description: "The beginning of the answer, addresses replaced; null once the content is erased.",
    }),
  },
  { $id: "WebhookAttempt", additionalProperties: false },
);

const WholeWebhookDelivery = Type.Object(
  {
    ...deliveryFields,
    skipped_reason: Type.Union([Type.String(), Type.Null()]),
    attempt_log: Type.Array(WebhookAttempt),
    payload: WebhookEventBody,
  },
  { $id: "WholeWebhookDelivery", additionalProperties: false },
);

const WebhookRecovery = Type.Object(
  {
    object: Type.Literal("webhook_recovery"),
    requested: Type.Integer({ minimum: 0, maximum: 10_000 }),
    has_more: Type.Boolean({ description: "Whether there were more than 10,000: ask again." }),
  },
  { additionalProperties: false },
);

const TAG = "Webhook deliveries";

/** The operations under /webhooks that are about deliveries. */
export const webhookDeliveryOperations = {
  listWebhookDeliveries: {
    summary: "List the deliveries to a webhook endpoint",
    description:
      "What happened while it was disabled is `skipped` without an attempt, and is kept for 14 days.",
    tag: TAG,
    query: ListWebhookDeliveriesQuery,
    success: { status: 200, schema: pageSchema(WebhookDelivery) },
    problems: ["INVALID_REQUEST", "WEBHOOK_NOT_FOUND"],
  },
  getWebhookDelivery: {
    summary: "Read a delivery with its attempts",
    tag: TAG,
    query: NoQuery,
    success: { status: 200, schema: WholeWebhookDelivery },
    problems: ["INVALID_REQUEST", "NOT_FOUND", "WEBHOOK_NOT_FOUND"],
  },
  retryWebhookDelivery: {
    summary: "Deliver once more",
    description: "Whatever became of it; the schedule begins anew. What is under way is left alone.",
    tag: TAG,
    query: NoQuery,
    success: { status: 202, schema: WebhookDelivery },
    problems: ["INVALID_REQUEST", "NOT_FOUND", "WEBHOOK_DISABLED", "WEBHOOK_NOT_FOUND"],
  },
  recoverWebhook: {
    summary: "Deliver again what has failed, was skipped or was missed since a time",
    description:
      "Up to 14 days back and 10,000 deliveries at once. What happened while the endpoint was disabled is among them, under the `webhook-id` that it would have had. What is under way is left alone.",
    tag: TAG,
    body: RecoverWebhookBody,
    success: { status: 200, schema: WebhookRecovery },
    problems: ["WEBHOOK_DISABLED", "WEBHOOK_NOT_FOUND"],
  },
} satisfies Operations;
