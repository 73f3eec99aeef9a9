import { LRUCache } from "lru-cache";
import type { MappedEvent } from "../../commands/webhookDelivery/webhookPayload.ts";
import type { DeliveryOrigin } from "../../domain/webhookDelivery/events.ts";

/** Erased content may still be delivered for this long. */
const AGE_MS_MAX = 1_000;
const PAYLOADS_MAX = 1_000;

/** Reads an event's payload once for all the endpoints that it goes to at about the same time. */
export function payloadCache(
  read: (origin: DeliveryOrigin) => Promise<MappedEvent>,
): (origin: DeliveryOrigin) => Promise<MappedEvent> {
  const payloads = new LRUCache<string, Promise<MappedEvent>>({ max: PAYLOADS_MAX, ttl: AGE_MS_MAX });
  return (origin) => {
    const known = payloads.get(origin.eventId);
    if (known) return known;
    const payload = read(origin);
    payloads.set(origin.eventId, payload);
    payload.catch(() => {
      if (payloads.peek(origin.eventId) === payload) payloads.delete(origin.eventId);
    });
    return payload;
  };
}
