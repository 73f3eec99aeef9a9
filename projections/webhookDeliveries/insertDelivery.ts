import { type WebhookEventType, webhookEventType } from "../../src/domain/webhookEventTypes.ts";
import { invariant } from "../../src/kernel/assert.ts";
import { webhookDeliveryId } from "../../src/kernel/ids.ts";
import type { EpochMs } from "../../src/kernel/time.ts";
import type { ProjectedEvent, ReadDatabase } from "../../src/ports/readDatabase.ts";
import { atOf } from "../projection.ts";

export function webhookTypeOf(event: ProjectedEvent): WebhookEventType {
  const type = webhookEventType(event.type);
  invariant(type !== null, `${event.type} has a webhook event`);
  return type;
}

const DELIVERY = `INSERT INTO deliveries (id, workspace_id, endpoint_id, event_id, event_type, event_stream,
  event_revision, created_at, status, state, due_at, attempts, events, lease_ms, updated_at, held)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, ?, 0)`;

/** An endpoint that an event is for. */
export interface Destination {
  readonly endpointId: string;
  readonly workspaceId: string;
}

/**
 * Adds the row of a delivery; `dueAt` is null if it is missed. Its id derives from event and endpoint, so a rebuild
 * gives the same id.
 */
export function insertDelivery(
  { endpointId, workspaceId }: Destination,
  event: ProjectedEvent,
  dueAt: EpochMs | null,
  db: ReadDatabase,
): void {
  const at = atOf(event);
  const id = webhookDeliveryId(event.id, endpointId);
  const source = [event.id, webhookTypeOf(event), event.stream, event.revision] as const;
  const state = dueAt === null ? (["skipped", "done", 0] as const) : (["pending", "ready", dueAt] as const);
  db.run(DELIVERY, id, workspaceId, endpointId, ...source, at, ...state, at);
}
