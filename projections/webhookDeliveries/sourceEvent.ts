import { type WebhookEventType, webhookEventType } from "../../src/domain/webhookEventTypes.ts";
import { invariant } from "../../src/kernel/assert.ts";
import type { ProjectedEvent } from "../../src/ports/readDatabase.ts";

/** The time of the event. */
export function atOf(event: ProjectedEvent): string {
  return event.metadata.at as string;
}

/** The webhook event type of the event. */
export function webhookTypeOf(event: ProjectedEvent): WebhookEventType {
  const type = webhookEventType(event.type);
  invariant(type !== null, `${event.type} has a webhook event`);
  return type;
}

/** The columns that say which event is delivered: its id, its webhook event type, its stream and its revision. */
export function sourceColumns(event: ProjectedEvent): readonly [string, WebhookEventType, string, number] {
  return [event.id, webhookTypeOf(event), event.stream, event.revision];
}
