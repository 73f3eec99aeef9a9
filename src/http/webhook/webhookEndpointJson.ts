import type { WebhookEndpointRow } from "../../../projections/webhookEndpoints.ts";
import { WEBHOOK_EVENT_TYPES } from "../../domain/webhookEventTypes.ts";
import { isUuid } from "../../kernel/ids.ts";
import { invalid, refusedFor } from "../server/problem.ts";

/** Refuses types of events that there are none of. Null: all. */
export function checkEventTypes(types: readonly string[] | null): void {
  const known: readonly string[] = WEBHOOK_EVENT_TYPES;
  const faults = (types ?? []).flatMap((type, index) =>
    known.includes(type)
      ? []
      : [{ pointer: `/event_types/${index}`, message: `must be one of ${known.join(", ")}` }],
  );
  if (faults.length > 0) throw refusedFor("INVALID_REQUEST", faults);
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
  if (!isUuid(text)) throw invalid(pointer, "must be a UUID");
  return text.toLowerCase();
}
