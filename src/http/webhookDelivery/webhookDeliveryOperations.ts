import { Type } from "@sinclair/typebox";
import { Closed, Id, Time } from "../body/commonSchemas.ts";
import { answersPage, CREATED_RANGE } from "../lists/listOperation.ts";
import { answersAccepted, answersOk, operationsOf } from "../server/operation.ts";
import { LEFT_ALONE, WebhookEventName } from "../webhook/webhookEndpointResource.ts";
import {
  DeliveryStatus,
  WebhookDelivery,
  WebhookRecovery,
  WholeWebhookDelivery,
} from "./webhookDeliveryResource.ts";

const filters = {
  status: Type.Optional(DeliveryStatus),
  event_type: Type.Optional(WebhookEventName),
  email_id: Type.Optional(Id("Deliveries of the events of this message.")),
  ...CREATED_RANGE,
};

const RecoverWebhookBody = Closed(
  {
    since: Type.Optional(Time("RFC 3339; at most 14 days ago, which is also the default.")),
  },
  { examples: [{}] },
);

export const webhookDeliveryOperations = operationsOf("Webhook deliveries", {
  listWebhookDeliveries: {
    summary: "List the deliveries to a webhook endpoint",
    description:
      "What happened while it was disabled is `skipped` without an attempt, and is kept for 14 days.",
    ...answersPage(WebhookDelivery, filters, "WEBHOOK_NOT_FOUND"),
  },
  getWebhookDelivery: {
    summary: "Read a delivery with its attempts",
    description:
      "The payload is what the endpoint would be sent now. To a key without `email:read` it is shown without what the message says: `metadata` and `subject` are null, and `reply` has only the relay's codes. Without `email:status` too, `from` and `to` are null.",
    ...answersOk(WholeWebhookDelivery, "NOT_FOUND", "WEBHOOK_NOT_FOUND"),
  },
  retryWebhookDelivery: {
    summary: "Deliver once more",
    description: `Whatever its state; the retry schedule starts again. A delivery in flight is left alone. ${LEFT_ALONE}`,
    ...answersAccepted(WebhookDelivery, "NOT_FOUND", "WEBHOOK_DISABLED", "WEBHOOK_NOT_FOUND"),
  },
  recoverWebhook: {
    summary:
      "Deliver again what has failed, waits for its next attempt, was skipped or was missed since a time",
    description:
      "Up to 14 days back and 10,000 deliveries at once. What happened while the endpoint was disabled is among them, under the `webhook-id` that it would have had. The retry schedule of each starts again. Deliveries in flight are left alone. " +
      LEFT_ALONE,
    body: RecoverWebhookBody,
    isBodyOptional: true,
    ...answersOk(WebhookRecovery, "WEBHOOK_DISABLED", "WEBHOOK_NOT_FOUND"),
  },
});
