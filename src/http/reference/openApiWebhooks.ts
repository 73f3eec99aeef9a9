import { PAYLOAD_BYTES_MAX } from "../../commands/webhookDelivery/webhookPayload.ts";
import { WEBHOOK_POLICY } from "../../domain/webhookDelivery/retrySchedule.ts";
import { grouped } from "../../kernel/text/readableNumbers.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";
import { webhookEvents } from "../webhook/webhookEventSchemas.ts";
import type { OpenApiParameter, OpenApiWebhook } from "./openApiTypes.ts";
import { answerSchema, type Components, type JsonSchema } from "./typeboxToJsonSchema.ts";

/** Groups the events on the reference page, with a text about all of them. */
export const WEBHOOK_EVENTS_TAG = "Webhook events";

const HEADERS: readonly (readonly [name: string, description: string, schema: JsonSchema])[] = [
  [
    "webhook-id",
    "Names the delivery: the same in every attempt, so a repeat can be dropped by it.",
    { type: "string", format: "uuid" },
  ],
  [
    "webhook-timestamp",
    "When this attempt was made, in seconds since 1970.",
    { type: "string", pattern: "^[0-9]+$" },
  ],
  [
    "webhook-signature",
    "`v1,` and the base64 of HMAC-SHA-256 over `id.timestamp.body`; several with spaces between them while a secret is rotated.",
    { type: "string", pattern: "^v1,[A-Za-z0-9+/]{43}=( v1,[A-Za-z0-9+/]{43}=)*$" },
  ],
];

const parameters = HEADERS.map(([name, description, schema]): OpenApiParameter => {
  return { name, in: "header", required: true, description, schema };
});

const responses = {
  "2XX": { description: "Received: the only success. The body is ignored." },
  "410": { description: "Nothing more is wanted: the endpoint is disabled, reason `gone`." },
  default: {
    description:
      "Failed, to be tried again. `Retry-After` of 429, 502, 503 and 504 is honored, up to twice the scheduled wait. Redirects are not followed.",
  },
};

function duration(ms: number): string {
  if (ms >= HOUR_MS) return `${ms / HOUR_MS} h`;
  return ms >= MINUTE_MS ? `${ms / MINUTE_MS} min` : `${ms / SECOND_MS} s`;
}

/** The text about all events, for the reference page and the document. */
export function webhookEventsText(): string {
  const [, ...waits] = WEBHOOK_POLICY.scheduleMs;
  return `Each event is one POST of a JSON body under ${grouped(PAYLOAD_BYTES_MAX)} bytes to every endpoint that is active and subscribes to its type when it happens. Answer with any 2xx within 15 seconds, and do the work afterwards.

**Delivered at least once, in no order.** An event can arrive twice: drop what has a \`webhook-id\` that you have seen. A later event can arrive before an earlier one: of two with the same \`object\` and \`id\`, the one with the larger \`sequence\` is the later, and its \`status\` counts.

**Signed** by Standard Webhooks (standardwebhooks.com), so its libraries verify it: compute HMAC-SHA-256 with the bytes behind \`whsec_\` (base64) over \`webhook-id\`, a dot, \`webhook-timestamp\`, a dot and the body exactly as it came, and compare in constant time with each signature in \`webhook-signature\`; one match is enough. Refuse a timestamp more than 5 minutes away from your clock. While a rotation overlaps, the new secret and the one before it both sign.

**Retried** at once, then ${waits.map(duration).join(", ")} after the attempt before, each up to 10% later by chance: ${WEBHOOK_POLICY.scheduleMs.length} attempts, unless the operator has set another schedule (\`WEBHOOK_SCHEDULE_MS\`). Then the delivery is \`exhausted\`; it can be retried by hand, or with everything else that has failed since a time. An endpoint that nothing has got through to for 120 hours (20 failures of at least two events) is disabled, reason \`failing\`, and the other endpoints are told by \`webhook.disabled\`.

**Versioned**: \`version\` is that of the payload. Members may be added to a version, so ignore those that you do not know; whatever changes or goes away makes a new version.`;
}

/** The `webhooks` section of the document (OpenAPI 3.1): one entry for each type of event. */
export function documentWebhooks(components: Components): Readonly<Record<string, { post: OpenApiWebhook }>> {
  return Object.fromEntries(
    webhookEvents.map(({ type, summary, schema }) => [
      type,
      {
        post: {
          operationId: `on-${type.replaceAll(/[._]/g, "-")}`,
          summary,
          tags: [WEBHOOK_EVENTS_TAG],
          security: [],
          parameters,
          requestBody: {
            required: true,
            content: { "application/json": { schema: answerSchema(schema, components) } },
          },
          responses,
        },
      } satisfies { post: OpenApiWebhook },
    ]),
  );
}
