import {
  type FailuresInARow,
  failuresInARow,
  listWebhookDeliveries,
  type WebhookDeliveryRow,
} from "../../../../projections/webhookDeliveries/queries.ts";
import type { ReadDatabase } from "../../../ports/readDatabase.ts";

/** An endpoint's health according to its newest deliveries. Times are RFC 3339. */
export interface EndpointHealth {
  readonly deliveredAt: string | null;
  /** When a delivery was last given up. */
  readonly gaveUpAt: string | null;
  /** Failures since the last success. */
  readonly failing: FailuresInARow | null;
}

export function endpointHealthOf(db: ReadDatabase, endpointId: string): EndpointHealth {
  const last = (status: WebhookDeliveryRow["status"]) =>
    listWebhookDeliveries(db, { endpointId, status, limit: 1 }).rows[0]?.updatedAt ?? null;
  return {
    deliveredAt: last("delivered"),
    gaveUpAt: last("exhausted"),
    failing: failuresInARow(db, endpointId),
  };
}
