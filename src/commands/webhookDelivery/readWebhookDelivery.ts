import {
  type WebhookDeliveryEvent,
  webhookDeliveryCodec,
  webhookDeliveryStream,
} from "../../domain/webhookDelivery/events.ts";
import type { WebhookDeliveryState } from "../../domain/webhookDelivery/state.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { webhookDeliveryAggregate } from "../aggregateDefinitions.ts";
import { load } from "../transact.ts";

/** Only a delivery requested many times over has a longer history; then only its beginning is shown. */
const HISTORY_EVENTS_MAX = 1_000;

/** A delivery at a known revision; null if its stream was never written. */
export interface WebhookDeliveryAtRevision {
  readonly id: string;
  readonly state: WebhookDeliveryState;
  readonly revision: number | null;
}

/** A delivery's current state in the log. Throws `StoreError`. */
export async function readWebhookDelivery(store: EventStore, id: string): Promise<WebhookDeliveryAtRevision> {
  return { id, ...(await load(store, webhookDeliveryAggregate.of(id))) };
}

export interface WebhookHistoryEvent {
  readonly at: string;
  readonly event: WebhookDeliveryEvent;
}

/** Everything that happened to a delivery; empty if nothing has yet. Throws `StoreError`. */
export async function readWebhookHistory(
  store: EventStore,
  id: string,
): Promise<readonly WebhookHistoryEvent[]> {
  const events = await store.read(webhookDeliveryStream(id), 0, HISTORY_EVENTS_MAX);
  return events.map((recorded) => {
    return { at: String(recorded.metadata.at), event: webhookDeliveryCodec.decode(recorded) };
  });
}
