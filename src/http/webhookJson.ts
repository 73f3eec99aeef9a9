import type { WebhookEndpointRow } from "../../projections/webhookEndpoints.ts";
import { WEBHOOK_EVENT_TYPES } from "../domain/webhook/events.ts";
import { isUuid } from "../kernel/ids.ts";
import { invalid } from "./problem.ts";

/** Refuses types of events that there are none of. Null: all. */
export function checkEventTypes(types: readonly string[] | null): void {
  types?.forEach((type, index) => {
    if (!(WEBHOOK_EVENT_TYPES as readonly string[]).includes(type)) {
      throw invalid(`/event_types/${index}`, `is not one of ${WEBHOOK_EVENT_TYPES.join(", ")}`);
    }
  });
}

/** An endpoint as its owner sees it, without its secret. */
export function endpointJson(row: WebhookEndpointRow) {
  return {
    id: row.id,
    object: "webhook_endpoint",
    url: row.url,
    description: row.description,
    event_types: row.eventTypes,
    status: row.status,
    disabled_reason: row.disabledReason,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
  };
}

/** The id of an endpoint or a delivery as streams know it (spec: an identifier that is none is 400). */
export function webhookId(pointer: string, text: string): string {
  if (!isUuid(text)) throw invalid(pointer, "is not a UUID");
  return text.toLowerCase();
}
