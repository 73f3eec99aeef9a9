import type { DeliveryOrigin } from "../../src/domain/webhookDelivery/events.ts";
import { type EpochMs, rfc3339 } from "../../src/kernel/time.ts";
import { allRows, firstRow, type ReadDatabase } from "../../src/ports/readDatabase.ts";
import {
  type CreatedRange,
  equals,
  findRows,
  type KeysetCursor,
  newerThan,
  OLDEST_FIRST,
  type PageQuery,
  ROWID_MAX,
  type RowPage,
} from "../keysetPagination.ts";
import { LEASE_COLUMNS, type Lease } from "../lease.ts";
import { FAILED_STATUSES, IS_FAILED } from "./tables.ts";

/** A delivery, and the stream and revision of its event. */
export interface WebhookDeliveryRow {
  readonly id: string;
  readonly workspaceId: string;
  readonly endpointId: string;
  readonly eventId: string;
  readonly eventType: string;
  readonly eventStream: string;
  readonly eventRevision: number;
  readonly createdAt: string;
  readonly status: "pending" | "attempting" | "delivered" | "exhausted" | "skipped";
  readonly attempts: number;
  readonly updatedAt: string;
  /** The number of events in the stream of the delivery. */
  readonly revision: number;
  /** When the next attempt is due; null if none is waiting. */
  readonly dueAt: EpochMs | null;
}

const COLUMNS = `deliveries.id, deliveries.workspace_id AS workspaceId, deliveries.endpoint_id AS endpointId,
  event_id AS eventId, event_type AS eventType, event_stream AS eventStream, event_revision AS eventRevision,
  created_at AS createdAt, status, attempts, updated_at AS updatedAt, events AS revision,
  iif(state IN ('ready', 'held'), deliveries.due_at, NULL) AS dueAt`;

export function originOf(row: WebhookDeliveryRow): DeliveryOrigin {
  const { workspaceId, endpointId, eventId, eventStream, eventRevision, eventType } = row;
  return { workspaceId, endpointId, eventId, eventStream, eventRevision, eventType };
}

/** Whether its endpoint was disabled at the time of the event, and nobody has requested delivery since. */
export function isMissed({ status, revision }: WebhookDeliveryRow): boolean {
  return status === "skipped" && revision === 0;
}

/** The most deliveries of one endpoint to read at once, so a long backlog leaves room for other endpoints. */
const OF_ENDPOINT_MAX = 32;

/** Due deliveries, the first few of each endpoint. `without`: ids of deliveries and endpoints to leave out. */
export function readyWebhooks(
  db: ReadDatabase,
  now: EpochMs,
  without: readonly string[],
  limit: number,
): readonly WebhookDeliveryRow[] {
  const sql = `WITH excluded AS MATERIALIZED (SELECT value FROM json_each(?2))
    SELECT ${COLUMNS} FROM backlogs CROSS JOIN deliveries ON deliveries.id IN
      (SELECT id FROM deliveries WHERE endpoint_id = backlogs.endpoint_id AND state = 'ready' AND due_at <= ?1
        AND id NOT IN excluded ORDER BY due_at LIMIT ${OF_ENDPOINT_MAX})
    WHERE backlogs.due_at <= ?1 AND backlogs.endpoint_id NOT IN excluded
    ORDER BY backlogs.due_at LIMIT ?3 + 0`;
  return allRows(db, sql, now, JSON.stringify(without), limit);
}

/** How many deliveries are due, counted up to `max`. Reads one row per endpoint with a due one besides. */
export function countDueWebhooks(db: ReadDatabase, now: EpochMs, max: number): number {
  const sql = `SELECT count(*) AS due FROM (SELECT 1 FROM backlogs CROSS JOIN deliveries INDEXED BY deliveries_ready
    ON deliveries.endpoint_id = backlogs.endpoint_id AND state = 'ready' AND deliveries.due_at <= ?1
    WHERE backlogs.due_at <= ?1 LIMIT ?2 + 0)`;
  return Number(db.get(sql, now, max)?.due);
}

export interface LateEndpoint {
  readonly workspaceId: string;
  readonly endpointId: string;
  /** Since when its oldest due delivery has been due. */
  readonly since: EpochMs;
}

/** Active endpoints with a delivery due since `before` or earlier, those that are furthest behind first. */
export function lateEndpoints(db: ReadDatabase, before: EpochMs, limit: number): readonly LateEndpoint[] {
  const sql = `SELECT workspace_id AS workspaceId, id AS endpointId, due_at AS since
    FROM backlogs CROSS JOIN endpoints ON endpoints.id = endpoint_id
    WHERE due_at <= ? AND active = 1 ORDER BY due_at LIMIT ? + 0`;
  return allRows(db, sql, before, limit);
}

/** How many deliveries of one endpoint are due, counted up to `max`. */
export function countDueOf(db: ReadDatabase, endpointId: string, now: EpochMs, max: number): number {
  const sql = `SELECT count(*) AS due FROM (SELECT 1 FROM deliveries INDEXED BY deliveries_ready
    WHERE endpoint_id = ? AND state = 'ready' AND due_at <= ? LIMIT ? + 0)`;
  return Number(db.get(sql, endpointId, now, max)?.due);
}

/** How many deliveries of one endpoint a search for clock-skewed ones scans. */
const CLOCK_SKEWED_SCANNED_MAX = 1_000;

/**
 * Untried deliveries with a time after `now`, some of each endpoint: the clock that dated their event was ahead of
 * ours. If there are none, it reads one row per endpoint with a backlog.
 */
export function clockSkewedWebhooks(
  db: ReadDatabase,
  now: EpochMs,
  limit: number,
): readonly WebhookDeliveryRow[] {
  const sql = `SELECT ${COLUMNS} FROM backlogs CROSS JOIN deliveries ON deliveries.id IN
      (SELECT id FROM (SELECT id, state, events FROM deliveries INDEXED BY deliveries_by_time
        WHERE endpoint_id = backlogs.endpoint_id AND created_at > ?1
        ORDER BY created_at DESC LIMIT ${CLOCK_SKEWED_SCANNED_MAX})
        WHERE state = 'ready' AND events = 0 LIMIT ${OF_ENDPOINT_MAX})
    WHERE backlogs.due_at IS NOT NULL LIMIT ?2 + 0`;
  return allRows(db, sql, rfc3339(now), limit);
}

/** When the next delivery becomes due, among endpoints that have none due at `now`; null if there is none. */
export function nextWebhookReadyAt(db: ReadDatabase, now: EpochMs): EpochMs | null {
  const sql = "SELECT min(due_at) AS at FROM backlogs WHERE due_at > ?";
  return firstRow<{ readonly at: EpochMs | null }>(db, sql, now)?.at ?? null;
}

/** The open claims of all instances. */
export function leasedWebhooks(db: ReadDatabase, limit: number): readonly Lease[] {
  const sql = `SELECT ${LEASE_COLUMNS}, attempts AS attempt FROM deliveries WHERE state = 'leased' LIMIT ? + 0`;
  return allRows(db, sql, limit);
}

/** An endpoint that has had no successful delivery for a while. */
interface FailingEndpoint {
  readonly workspaceId: string;
  readonly endpointId: string;
}

/** Endpoints that have only failed since `before` or earlier, at least that many times and for that many events. */
export function failingEndpoints(
  db: ReadDatabase,
  before: string,
  { failuresMin, eventsMin }: { readonly failuresMin: number; readonly eventsMin: number },
  limit: number,
): readonly FailingEndpoint[] {
  const sql = `SELECT workspace_id AS workspaceId, id AS endpointId FROM failing JOIN endpoints ON endpoints.id = endpoint_id
    WHERE since <= ? AND failures >= ? AND events >= ? AND active = 1 LIMIT ? + 0`;
  return allRows(db, sql, before, failuresMin, eventsMin, limit);
}

/** The failed attempts since the last successful one. */
export interface FailuresInARow {
  /** When the first of them failed, RFC 3339. */
  readonly since: string;
  readonly failures: number;
  /** The event of the last failed attempt. */
  readonly eventId: string;
}

/** The failures of an endpoint since its last success; null when there are none. */
export function failuresInARow(db: ReadDatabase, endpointId: string): FailuresInARow | null {
  const sql = "SELECT since, failures, event_id AS eventId FROM failing WHERE endpoint_id = ?";
  return firstRow(db, sql, endpointId);
}

/** Which deliveries of an endpoint to list. */
interface WebhookDeliveryQuery extends CreatedRange, PageQuery {
  readonly endpointId: string;
  readonly status?: string;
  readonly eventType?: string;
  /** Only these deliveries. They are looked up by their ids, however many the endpoint has. */
  readonly ids?: readonly string[];
}

/** SQLite's own name for the index of the primary key. */
const BY_ID = "sqlite_autoindex_deliveries_1";

/** Deliveries of one endpoint, newest first. */
export function listWebhookDeliveries(
  db: ReadDatabase,
  query: WebhookDeliveryQuery,
): RowPage<WebhookDeliveryRow> {
  const { endpointId, status, eventType, ids } = query;
  const isFailed = status !== undefined && FAILED_STATUSES.includes(status);
  return findRows(db, query, {
    ...listOf(endpointId),
    columns: COLUMNS,
    index: ids ? BY_ID : isFailed ? "deliveries_failed" : "deliveries_by_time",
    along: [
      ...(ids ? [{ sql: "id IN (SELECT value FROM json_each(?))", values: [JSON.stringify(ids)] }] : []),
      ...equals("endpoint_id", endpointId),
      ...(isFailed ? [{ sql: IS_FAILED, values: [] }] : []),
    ],
    wanted: [...equals("status", status), ...equals("event_type", eventType)],
  });
}

function listOf(endpointId: string) {
  return { table: "deliveries", of: "endpoint_id", owner: endpointId };
}

/** An endpoint's deliveries created since a time that failed for good, oldest first, those after `after`. */
export function failedWebhooks(
  db: ReadDatabase,
  { endpointId, since }: { readonly endpointId: string; readonly since: string },
  after: KeysetCursor | null,
  limit: number,
): readonly WebhookDeliveryRow[] {
  // One bound alone: beside `since`, a cursor would only be looked at in each row, and each page walk those before it.
  const begin = after ? newerThan(listOf(endpointId), after) : { sql: "created_at >= ?", values: [since] };
  const sql = `SELECT ${COLUMNS} FROM deliveries INDEXED BY deliveries_failed WHERE endpoint_id = ? AND ${begin.sql}
    AND ${IS_FAILED} ${OLDEST_FIRST} LIMIT ? + 0`;
  return allRows(db, sql, endpointId, ...begin.values, limit);
}

/**
 * An endpoint's deliveries created since a time whose last attempt failed and that wait for the next one, the soonest
 * first, those after `after`.
 */
export function retryingWebhooks(
  db: ReadDatabase,
  { endpointId, since, now }: { readonly endpointId: string; readonly since: string; readonly now: EpochMs },
  after: Pick<WebhookDeliveryRow, "id" | "dueAt"> | null,
  limit: number,
): readonly WebhookDeliveryRow[] {
  const sql = `SELECT ${COLUMNS} FROM deliveries INDEXED BY deliveries_ready WHERE endpoint_id = ? AND state = 'ready'
    AND (due_at, rowid) > (?, coalesce((SELECT rowid FROM deliveries WHERE id = ?), ${ROWID_MAX}))
    AND attempts > 0 AND created_at >= ? ORDER BY due_at, rowid LIMIT ? + 0`;
  return allRows(db, sql, endpointId, after?.dueAt ?? now, after?.id ?? "", since, limit);
}

/** One delivery of an endpoint; null if it has none with this id. */
export function webhookDelivery(db: ReadDatabase, endpointId: string, id: string): WebhookDeliveryRow | null {
  return firstRow(db, `SELECT ${COLUMNS} FROM deliveries WHERE endpoint_id = ? AND id = ?`, endpointId, id);
}

/** The deliveries of a workspace with the given ids, as far as they exist. Reads one row per id. */
export function webhookDeliveriesOf(
  db: ReadDatabase,
  workspaceId: string,
  ids: readonly string[],
): readonly WebhookDeliveryRow[] {
  const sql = `SELECT ${COLUMNS} FROM deliveries WHERE id IN (SELECT value FROM json_each(?)) AND workspace_id = ?`;
  return allRows(db, sql, JSON.stringify(ids), workspaceId);
}
