import type { EmailEvent } from "./email/events.ts";
import type { SuppressionEvent } from "./suppression/events.ts";
import type { WebhookEvent } from "./webhook/events.ts";

/** The types of the events in the log that may have a webhook event. */
type SourceType = (EmailEvent | SuppressionEvent | WebhookEvent)["type"];

/**
 * The webhook event of each event in the log; null: endpoints do not receive it. The compiler asks for every event of a
 * message, a suppression and an endpoint. To add a webhook event, name it here: the payload (`webhookPayload`) and its
 * schema (`webhookEventSchemas`) then do not compile until they describe it. A type that a release had as null stays
 * null, or a rebuild would deliver every such event in the log, however old. Write a new event type beside it instead.
 */
const TYPES = {
  EmailContentStored: null,
  EmailQueued: "email.queued",
  EmailScheduled: "email.scheduled",
  EmailRescheduled: null,
  EmailDeliveryStarted: null,
  EmailSent: "email.sent",
  EmailDeferred: "email.delivery_delayed",
  EmailDelivered: "email.delivered",
  EmailBounced: "email.bounced",
  EmailComplained: "email.complained",
  EmailFailed: "email.failed",
  EmailSuppressed: "email.suppressed",
  EmailCanceled: "email.canceled",
  EmailAttachmentsExpired: null,
  EmailContentErasureRequested: null,
  EmailContentErased: null,
  SuppressionAddressStored: null,
  RecipientSuppressed: "suppression.created",
  RecipientUnsuppressed: "suppression.deleted",
  SuppressionAddressErased: null,
  WebhookEndpointRegistered: null,
  WebhookEndpointUpdated: null,
  WebhookEndpointDisabled: "webhook.disabled",
  WebhookEndpointEnabled: null,
  WebhookEndpointSecretRotated: null,
  WebhookEndpointDeleted: null,
  WebhookTestRequested: "webhook.test",
} as const satisfies Readonly<Record<SourceType, `${string}.${string}` | null>>;

type Published = { [Type in SourceType]: (typeof TYPES)[Type] extends null ? never : Type }[SourceType];

/** The event types that a webhook endpoint can subscribe to. */
export type WebhookEventType = (typeof TYPES)[Published];

/** The given events that endpoints receive. */
export type PublishedEvent<Event extends { readonly type: SourceType }> = Extract<Event, { type: Published }>;

const byLogType: ReadonlyMap<string, WebhookEventType | null> = new Map(Object.entries(TYPES));

/** All webhook event types, in the order of the documentation. */
export const WEBHOOK_EVENT_TYPES: readonly WebhookEventType[] = [...byLogType.values()].filter(
  (type) => type !== null,
);

/** The webhook event of an event type in the log; null if endpoints do not receive it. */
export function webhookEventType(logType: string): WebhookEventType | null {
  return byLogType.get(logType) ?? null;
}

export function isWebhookEventType(text: string): text is WebhookEventType {
  return (WEBHOOK_EVENT_TYPES as readonly string[]).includes(text);
}

/** Reasons of an `EmailDeferred` that endpoints do not receive: the message was only held or resumed, not delayed. */
const NO_DELAY: ReadonlySet<string> = new Set([
  "resumed",
  "sending_paused",
  "sender_unavailable",
  "content_store_unavailable",
  "store_unavailable",
]);

/** Whether endpoints receive events of this type. */
export function isPublished<Event extends { readonly type: SourceType }>(
  event: Event,
): event is PublishedEvent<Event> {
  return webhookEventType(event.type) !== null;
}

/** Whether endpoints receive this event: of deferrals only real delays, and no outcome that decided nothing. */
export function reachesEndpoints(event: EmailEvent): boolean {
  if (!isPublished(event) || ("superseded" in event.data && event.data.superseded)) return false;
  return event.type !== "EmailDeferred" || !NO_DELAY.has(event.data.reason);
}
