import { webhookDeliveryId } from "../../src/kernel/ids.ts";
import { DAY_MS, epochMs, rfc3339 } from "../../src/kernel/time.ts";
import type { ProjectedEvent, ReadDatabase } from "../../src/ports/readDatabase.ts";
import { atOf, sourceColumns } from "./sourceEvent.ts";
import { IS_MISSED } from "./tables.ts";

/** An event that happened while its endpoint was disabled. It is delivered only on request. */
const MISSED = `INSERT INTO deliveries (id, workspace_id, endpoint_id, event_id, event_type, event_stream,
  event_revision, created_at, status, state, due_at, attempts, events, lease_ms, updated_at, held)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'skipped', 'done', 0, 0, 0, 0, ?, 0)`;
const FORGET_MISSED = `DELETE FROM deliveries WHERE endpoint_id = ? AND created_at < ? AND ${IS_MISSED}`;
const FORGET_MISSED_OF_WORKSPACE = `DELETE FROM deliveries
  WHERE endpoint_id IN (SELECT id FROM endpoints WHERE workspace_id = ?) AND created_at < ? AND ${IS_MISSED}`;
/** Every endpoint with deliveries has a backlog row, even if none is waiting. */
const BACKLOG_BEGUN = "INSERT INTO backlogs (endpoint_id) VALUES (?) ON CONFLICT DO NOTHING";

/** How long a missed event can be recovered. After that, the endpoint's next missed event deletes it. */
export const MISSED_KEPT_MS = 14 * DAY_MS;

/** This event deletes missed events from before this time. */
function missedBefore(event: ProjectedEvent): string {
  return rfc3339(epochMs(atOf(event)) - MISSED_KEPT_MS);
}

/** Adds an event that the endpoint missed because it was disabled, and deletes those that are too old. */
export function addMissed(
  endpointId: string,
  workspaceId: string,
  event: ProjectedEvent,
  db: ReadDatabase,
): void {
  const id = webhookDeliveryId(event.id, endpointId);
  const at = atOf(event);
  db.run(FORGET_MISSED, endpointId, missedBefore(event));
  db.run(MISSED, id, workspaceId, endpointId, ...sourceColumns(event), at, at);
  db.run(BACKLOG_BEGUN, endpointId);
}

/** Deletes the workspace's missed events that can no longer be recovered at the time of this event. */
export function forgetMissed(workspaceId: string, event: ProjectedEvent, db: ReadDatabase): void {
  db.run(FORGET_MISSED_OF_WORKSPACE, workspaceId, missedBefore(event));
}
