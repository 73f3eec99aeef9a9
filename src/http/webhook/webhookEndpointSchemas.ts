import { type Static, Type } from "@sinclair/typebox";
import { WEBHOOK_EVENT_TYPES } from "../../domain/webhookEventTypes.ts";
import { Cursor, DateTime, Limit, NoQuery, Nullable, Text, Uuid } from "../body/commonSchemas.ts";
import { inWords } from "../body/validation.ts";
import type { Operations } from "../server/operation.ts";

const Destination = Type.String({ description: "A public HTTPS URL on port 443." });
const Description = Type.Union([Text({ maxLength: 500 }), Type.Null()]);
const EventTypes = Type.Union([Type.Array(Type.String(), { minItems: 1, uniqueItems: true }), Type.Null()], {
  description: `Null or absent: all. Else some of ${WEBHOOK_EVENT_TYPES.join(", ")}.`,
});

export const RegisterWebhookBody = Type.Object(
  { url: Destination, description: Type.Optional(Description), event_types: Type.Optional(EventTypes) },
  {
    additionalProperties: false,
    examples: [
      {
        url: "https://hooks.example.com/postledger",
        description: "Order status",
        event_types: ["email.sent", "email.bounced"],
      },
    ],
  },
);

export const UpdateWebhookBody = Type.Partial(
  Type.Object({ url: Destination, description: Description, event_types: EventTypes }),
  { additionalProperties: false, minProperties: 1, examples: [{ event_types: null }] },
);
export type UpdateWebhookBody = Static<typeof UpdateWebhookBody>;

/** How long two secrets may sign after a rotation: 7 days. */
const OVERLAP_SECONDS_MAX = 604_800;

export const RotateSecretBody = Type.Object(
  {
    overlap_seconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: OVERLAP_SECONDS_MAX,
        description:
          "How long the secret before signs too, in seconds; 86400 (a day) unless given. 0 ends it at once, as for a secret that leaked.",
      }),
    ),
  },
  { additionalProperties: false, examples: [{ overlap_seconds: 3_600 }] },
);

export const RotateSecretQuery = Type.Object(
  {
    overlap_seconds: Type.Optional(
      inWords(
        `must be a whole number from 0 to ${OVERLAP_SECONDS_MAX}`,
        Type.String({
          pattern: "^([0-9]{1,5}|[1-5][0-9]{5}|60[0-3][0-9]{3}|604[0-7][0-9]{2}|604800)$",
          description: "As in the body, for who sends none: 0 to 604800.",
        }),
      ),
    ),
  },
  { additionalProperties: false },
);

export const ListWebhooksQuery = Type.Object(
  { limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);

/** Why an endpoint is disabled. */
export const DisabledReason = Type.Union(
  [Type.Literal("manual"), Type.Literal("failing"), Type.Literal("gone")],
  {
    description:
      "`manual`: on request; `failing`: nothing got through for 120 hours; `gone`: it answered 410.",
  },
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
  disabled_reason: Nullable(DisabledReason),
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
      examples: [`whsec_${"A".repeat(43)}=`],
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

const WebhookTest = Type.Object(
  { object: Type.Literal("webhook_test"), delivery_id: Uuid },
  { additionalProperties: false },
);

/** The operations under /webhooks that are about endpoints. */
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
  getWebhook: {
    summary: "Read a webhook endpoint",
    tag: "Webhooks",
    query: NoQuery,
    success: { status: 200, schema: WebhookEndpoint },
    problems: ["INVALID_REQUEST", "WEBHOOK_NOT_FOUND"],
  },
  updateWebhook: {
    summary: "Change a webhook endpoint",
    description: "What is left out stays. What is owed to it already goes to the new destination.",
    tag: "Webhooks",
    body: UpdateWebhookBody,
    success: { status: 200, schema: WebhookEndpoint },
    problems: ["INVALID_WEBHOOK_URL", "WEBHOOK_ALREADY_EXISTS", "WEBHOOK_NOT_FOUND"],
  },
  deleteWebhook: {
    summary: "Delete a webhook endpoint",
    description: "What is owed to it is skipped.",
    tag: "Webhooks",
    query: NoQuery,
    success: { status: 204, schema: null },
    problems: ["INVALID_REQUEST", "WEBHOOK_NOT_FOUND"],
  },
  disableWebhook: {
    summary: "Disable a webhook endpoint",
    description: "What is owed to it is skipped, and can be recovered. A repeat changes nothing.",
    tag: "Webhooks",
    query: NoQuery,
    success: { status: 200, schema: WebhookEndpoint },
    problems: ["INVALID_REQUEST", "WEBHOOK_NOT_FOUND"],
  },
  enableWebhook: {
    summary: "Enable a webhook endpoint",
    description: "For what happens from here on; what it missed can be recovered. A repeat changes nothing.",
    tag: "Webhooks",
    query: NoQuery,
    success: { status: 200, schema: WebhookEndpoint },
    problems: ["INVALID_REQUEST", "WEBHOOK_NOT_FOUND"],
  },
  rotateWebhookSecret: {
    summary: "Give a webhook endpoint a new signing secret",
    description: "Both secrets sign while they overlap; a secret before these two signs no more.",
    tag: "Webhooks",
    body: RotateSecretBody,
    isBodyOptional: true,
    query: RotateSecretQuery,
    success: { status: 200, schema: NewWebhookEndpoint },
    problems: ["INVALID_REQUEST", "WEBHOOK_NOT_FOUND"],
  },
  testWebhook: {
    summary: "Send a test event to a webhook endpoint",
    description: "An event `webhook.test`, whatever the endpoint subscribes to.",
    tag: "Webhooks",
    query: NoQuery,
    success: { status: 202, schema: WebhookTest },
    problems: ["INVALID_REQUEST", "WEBHOOK_NOT_FOUND", "WEBHOOK_DISABLED"],
  },
} satisfies Operations;
