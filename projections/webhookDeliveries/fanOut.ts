import { type WebhookEventType, webhookEventType } from "../../src/domain/webhookEventTypes.ts";
import { invariant } from "../../src/kernel/assert.ts";
import { webhookDeliveryId } from "../../src/kernel/ids.ts";
import { DAY_MS, epochMs, rfc3339 } from "../../src/kernel/time.ts";
import type { ProjectedEvent, ReadDatabase } from "../../src/ports/readDatabase.ts";
import { IS_MISSED } from "./tables.ts";

const DELIVERY = `INSERT INTO deliveries (id, workspace_id, endpoint_id, event_id, event_type, event_stream,
  event_revision, created_at, status, state, due_at, attempts, events, lease_ms, updated_at, held)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', 'ready', ?, 0, 0, 0, ?, 0)`;
/** An event that happened while its endpoint was disabled. It is delivered only on request. */
const MISSED = `INSERT INTO deliveries (id, workspace_id, endpoint_id, event_id, event_type, event_stream,
  event_revision, created_at, status, state, due_at, attempts, events, lease_ms, updated_at, held)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'skipped', 'done', 0, 0, 0, 0, ?, 0)`;
const FORGET_MISSED = `DELETE FROM deliveries WHERE endpoint_id = ? AND created_at < ? AND ${IS_MISSED}`;
const BACKLOG_GROWN = `INSERT INTO backlogs (endpoint_id, due_at) VALUES (?, ?)
  ON CONFLICT DO UPDATE SET due_at = min(ifnull(due_at, excluded.due_at), excluded.due_at)`;
/** Every endpoint with deliveries has a backlog row, even if none is waiting. */
const BACKLOG_BEGUN = "INSERT INTO backlogs (endpoint_id) VALUES (?) ON CONFLICT DO NOTHING";

/** The time of the event. */
export function atOf(event: ProjectedEvent): string {
  return event.metadata.at as string;
}

function typeOf(event: ProjectedEvent): WebhookEventType {
  const type = webhookEventType(event.type);
  invariant(type !== null, `${event.type} has a webhook event`);
  return type;
}

/** Adds a delivery, due at once. Its id derives from event and endpoint, so a rebuild gives the same id. */
export function addDelivery(
  endpointId: string,
  workspaceId: string,
  event: ProjectedEvent,
  db: ReadDatabase,
): void {
  const id = webhookDeliveryId(event.id, endpointId);
  const at = atOf(event);
  const source = [event.id, typeOf(event), event.stream, event.revision] as const;
  const dueAt = epochMs(at);
  db.run(DELIVERY, id, workspaceId, endpointId, ...source, at, dueAt, at);
  db.run(BACKLOG_GROWN, endpointId, dueAt);
}

/** How long a missed event can be recovered. After that, the endpoint's next missed event deletes it. */
export const MISSED_KEPT_MS = 14 * DAY_MS;

/** This event deletes missed events from before this time. */
export function missedBefore(event: ProjectedEvent): string {
  return rfc3339(epochMs(atOf(event)) - MISSED_KEPT_MS);
}

/** Adds an event that the endpoint missed because it was disabled. */
function addMissed(endpointId: string, workspaceId: string, event: ProjectedEvent, db: ReadDatabase): void {
  const id = webhookDeliveryId(event.id, endpointId);
  const at = atOf(event);
  const source = [event.id, typeOf(event), event.stream, event.revision] as const;
  db.run(FORGET_MISSED, endpointId, missedBefore(event));
  db.run(MISSED, id, workspaceId, endpointId, ...source, at, at);
  db.run(BACKLOG_BEGUN, endpointId);
}

interface Subscriber {
  readonly id: string;
  readonly isActive: boolean;
  /** Null means all types. */
  readonly types: readonly string[] | null;
}

/** How many workspaces' subscribers to cache for one database. Beyond that, the cache is emptied. */
const CACHED_WORKSPACES_MAX = 1_000;
/**
 * The subscribers of each workspace. Nearly every event needs them and hardly any changes them, so we read them once
 * per change. This is safe because the rows have a single writer, and a writer that failed is not used again.
 */
const cache = new WeakMap<ReadDatabase, Map<string, readonly Subscriber[]>>();

function subscribersOf(workspaceId: string, db: ReadDatabase): readonly Subscriber[] {
  const known = cache.get(db) ?? new Map<string, readonly Subscriber[]>();
  const found = known.get(workspaceId);
  if (found) return found;
  const sql = "SELECT id, event_types, active FROM endpoints WHERE workspace_id = ?";
  const subscribers = db.all(sql, workspaceId).map(({ id, event_types: types, active }): Subscriber => {
    const wanted = types === null ? null : (JSON.parse(String(types)) as string[]);
    return { id: String(id), isActive: active === 1, types: wanted };
  });
  if (known.size >= CACHED_WORKSPACES_MAX) known.clear();
  known.set(workspaceId, subscribers);
  cache.set(db, known);
  return subscribers;
}

/** Call it when the endpoints of a workspace change. */
export function forgetSubscribers(db: ReadDatabase): void {
  cache.delete(db);
}

/** Adds a delivery for each active endpoint subscribed at this point of the log. Disabled ones miss the event. */
export function fanOut(workspaceId: string, event: ProjectedEvent, db: ReadDatabase, itself?: string): void {
  const type = typeOf(event);
  for (const { id, isActive, types } of subscribersOf(workspaceId, db)) {
    if (types !== null && !types.includes(type)) continue;
    if (isActive) addDelivery(id, workspaceId, event, db);
    // The event that disables an endpoint does not count as missed by it.
    else if (id !== itself) addMissed(id, workspaceId, event, db);
  }
}
