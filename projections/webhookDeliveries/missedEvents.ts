import { DAY_MS, epochMs, rfc3339 } from "../../src/kernel/time.ts";
import type { ProjectedEvent, ReadDatabase } from "../../src/ports/readDatabase.ts";
import { atOf } from "../projection.ts";
import { type Destination, insertDelivery } from "./insertDelivery.ts";
import { IS_MISSED } from "./tables.ts";

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

/**
 * Adds an event that the endpoint missed because it was disabled, which is delivered only on request, and deletes those
 * that are too old.
 */
export function addMissed(destination: Destination, event: ProjectedEvent, db: ReadDatabase): void {
  db.run(FORGET_MISSED, destination.endpointId, missedBefore(event));
  insertDelivery(destination, event, null, db);
  db.run(BACKLOG_BEGUN, destination.endpointId);
}

/** Deletes the workspace's missed events that can no longer be recovered at the time of this event. */
export function forgetMissed(workspaceId: string, event: ProjectedEvent, db: ReadDatabase): void {
  db.run(FORGET_MISSED_OF_WORKSPACE, workspaceId, missedBefore(event));
}
