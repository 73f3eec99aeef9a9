import { epochMs } from "../../src/kernel/time.ts";
import type { ProjectedEvent, ReadDatabase } from "../../src/ports/readDatabase.ts";
import { atOf } from "../projection.ts";
import { type Destination, insertDelivery, webhookTypeOf } from "./insertDelivery.ts";
import { addMissed } from "./missedEvents.ts";

const BACKLOG_GROWN = `INSERT INTO backlogs (endpoint_id, due_at) VALUES (?, ?)
  ON CONFLICT DO UPDATE SET due_at = min(ifnull(due_at, excluded.due_at), excluded.due_at)`;

/** Adds a delivery, due at once. */
export function addDelivery(destination: Destination, event: ProjectedEvent, db: ReadDatabase): void {
  const dueAt = epochMs(atOf(event));
  insertDelivery(destination, event, dueAt, db);
  db.run(BACKLOG_GROWN, destination.endpointId, dueAt);
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
  const type = webhookTypeOf(event);
  for (const { id, isActive, types } of subscribersOf(workspaceId, db)) {
    if (types !== null && !types.includes(type)) continue;
    const destination = { endpointId: id, workspaceId };
    if (isActive) addDelivery(destination, event, db);
    // The event that disables an endpoint does not count as missed by it.
    else if (id !== itself) addMissed(destination, event, db);
  }
}
