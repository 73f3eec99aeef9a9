import { emailCodec } from "../src/domain/email/events.ts";
import { HOLD_EVENTS } from "../src/domain/instance/events.ts";
import { suppressionCodec } from "../src/domain/suppression/events.ts";
import { type WebhookEvent, type WebhookEventType, webhookCodec } from "../src/domain/webhook/events.ts";
import { type WebhookDeliveryEvent, webhookDeliveryCodec } from "../src/domain/webhookDelivery/events.ts";
import { invariant, never } from "../src/kernel/assert.ts";
import { webhookDeliveryId } from "../src/kernel/ids.ts";
import { DAY_MS, type EpochMs, epochMs, rfc3339 } from "../src/kernel/time.ts";
import type { ProjectedEvent, ReadDatabase, SqlRow } from "../src/ports/readDatabase.ts";
import {
  createdIn,
  equals,
  type Found,
  findRows,
  type ListPlace,
  newerThan,
  OLDEST_FIRST,
} from "./keysetList.ts";
import type { Projection } from "./projection.ts";

/** What subscribers are told of, by the type of the event in the log. */
const TOLD_AS: Readonly<Record<string, WebhookEventType>> = {
  EmailQueued: "email.queued",
  EmailSent: "email.sent",
  EmailDeferred: "email.delivery_delayed",
  EmailBounced: "email.bounced",
  EmailFailed: "email.failed",
  EmailSuppressed: "email.suppressed",
  EmailCanceled: "email.canceled",
  RecipientSuppressed: "suppression.created",
  RecipientUnsuppressed: "suppression.deleted",
  WebhookEndpointDisabled: "webhook.disabled",
  WebhookTestRequested: "webhook.test",
};

/** Deferrals that say nothing of the message: an operator or a pause held it, or let it go. */
const NO_DELAY: ReadonlySet<string> = new Set([
  "resumed",
  "sending_paused",
  "sender_unavailable",
  "store_unavailable",
]);

/** How a delivery ends that did not get through. Few do, so those are found by an index that the others do not pay for. */
const FAILED_STATUSES: readonly string[] = ["exhausted", "skipped"];
const IS_FAILED = `status IN (${FAILED_STATUSES.map((status) => `'${status}'`).join(", ")})`;

const ENDPOINT = "INSERT INTO endpoints (id, workspace_id, event_types, active) VALUES (?, ?, ?, 1)";
const DELIVERY = `INSERT INTO deliveries (id, workspace_id, endpoint_id, event_id, event_type, event_stream,
  event_revision, created_at, status, state, due_at, attempts, events, lease_ms, updated_at, held)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', 'ready', ?, 0, 0, 0, ?, 0)`;
/** What happened while its endpoint was disabled: nobody tries it until it is asked for. */
const MISSED = `INSERT INTO deliveries (id, workspace_id, endpoint_id, event_id, event_type, event_stream,
  event_revision, created_at, status, state, due_at, attempts, events, lease_ms, updated_at, held)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'skipped', 'done', 0, 0, 0, 0, ?, 0)`;
const IS_MISSED = "status = 'skipped' AND events = 0";
const FORGET_MISSED = `DELETE FROM deliveries WHERE endpoint_id = ? AND created_at < ? AND ${IS_MISSED}`;
const FORGET_MISSED_OF_WORKSPACE = `DELETE FROM deliveries
  WHERE endpoint_id IN (SELECT id FROM endpoints WHERE workspace_id = ?) AND created_at < ? AND ${IS_MISSED}`;
const STARTED = `UPDATE deliveries SET status = 'attempting', state = 'leased', attempts = ?, lease_ms = ?,
  events = ?, updated_at = ? WHERE id = ?`;
/** Only the attempt that holds the claim sends a delivery back to waiting. */
const FAILED = `UPDATE deliveries SET status = 'pending', state = iif(held, 'held', 'ready'), due_at = ?, events = ?, updated_at = ?
  WHERE id = ? AND state = 'leased' AND attempts = ?`;
const ENDED = "UPDATE deliveries SET status = ?, state = 'done', events = ?, updated_at = ? WHERE id = ?";
const AGAIN = `UPDATE deliveries SET status = 'pending', state = iif(held, 'held', 'ready'), due_at = ?, events = ?, updated_at = ?
  WHERE id = ?`;
const COUNT_FAILURE = `INSERT INTO failing (endpoint_id, since, failures, event_id, events) VALUES (?, ?, 1, ?, 1)
  ON CONFLICT DO UPDATE SET failures = failures + 1, events = events + (event_id <> excluded.event_id),
  event_id = excluded.event_id`;
const BACKLOG_GROWN = `INSERT INTO backlogs (endpoint_id, due_at) VALUES (?, ?)
  ON CONFLICT DO UPDATE SET due_at = min(ifnull(due_at, excluded.due_at), excluded.due_at)`;
/** There is one for each endpoint that has deliveries, whether or not one waits. */
const BACKLOG_BEGUN = "INSERT INTO backlogs (endpoint_id) VALUES (?) ON CONFLICT DO NOTHING";
const BACKLOG_ANEW = `UPDATE backlogs SET due_at =
  (SELECT min(due_at) FROM deliveries WHERE endpoint_id = ?1 AND state = 'ready') WHERE endpoint_id = ?1`;
/** Of an event that is no longer in the log nobody can be told. */
const FORGET_ERASED = "DELETE FROM deliveries WHERE event_stream = ? AND event_revision <= ?";
const COUNT_ANEW = `DELETE FROM failing WHERE endpoint_id IN (SELECT id FROM endpoints WHERE workspace_id = ?)`;
const FORGET_BACKLOGS =
  "DELETE FROM backlogs WHERE NOT EXISTS (SELECT 1 FROM deliveries WHERE endpoint_id = backlogs.endpoint_id)";
const BACKLOGS_ANEW = `UPDATE backlogs SET due_at = (SELECT min(due_at) FROM deliveries
  WHERE endpoint_id = backlogs.endpoint_id AND state = 'ready')`;
const HOLD_READY = "UPDATE deliveries SET held = 1, state = 'held' WHERE state = 'ready'";
const HOLD_LEASED = "UPDATE deliveries SET held = 1 WHERE state = 'leased'";
const RELEASE_ALL =
  "UPDATE deliveries SET held = 0, state = iif(state = 'held', 'ready', state) WHERE held = 1";
const FORGET_FAILURES = "DELETE FROM failing WHERE endpoint_id = ?";

function atOf(event: ProjectedEvent): string {
  return event.metadata.at as string;
}

/** One delivery, due at once. Its id comes from the event and the endpoint, so it is the same in every rebuild. */
function deliverTo(endpointId: string, workspaceId: string, event: ProjectedEvent, db: ReadDatabase): void {
  const id = webhookDeliveryId(event.id, endpointId);
  const at = atOf(event);
  const type = TOLD_AS[event.type] as string;
  const source = [event.id, type, event.stream, event.revision] as const;
  const dueAt = epochMs(at);
  db.run(DELIVERY, id, workspaceId, endpointId, ...source, at, dueAt, at);
  db.run(BACKLOG_GROWN, endpointId, dueAt);
}

/** What is missed can be recovered for so long, and is forgotten with the next that is missed after that. */
export const MISSED_KEPT_MS = 14 * DAY_MS;

function missedBefore(event: ProjectedEvent): string {
  return rfc3339(epochMs(atOf(event)) - MISSED_KEPT_MS);
}

/** An event that an endpoint would have been told of, had it not been disabled. */
function missBy(endpointId: string, workspaceId: string, event: ProjectedEvent, db: ReadDatabase): void {
  const id = webhookDeliveryId(event.id, endpointId);
  const at = atOf(event);
  const source = [event.id, TOLD_AS[event.type] as string, event.stream, event.revision] as const;
  db.run(FORGET_MISSED, endpointId, missedBefore(event));
  db.run(MISSED, id, workspaceId, endpointId, ...source, at, at);
  db.run(BACKLOG_BEGUN, endpointId);
}

interface Subscriber {
  readonly id: string;
  readonly isActive: boolean;
  /** Null: everything. */
  readonly types: readonly string[] | null;
}

/** Workspaces whose subscribers are remembered for one database; past it all are forgotten. */
const REMEMBERED_WORKSPACES_MAX = 1_000;
/**
 * Who wants what and is active, by workspace. Nearly every event of a log asks for it and hardly any changes it, so
 * it is read once for each change. Rows change through their one writer alone, and one that failed is not gone on with.
 */
const remembered = new WeakMap<ReadDatabase, Map<string, readonly Subscriber[]>>();

function subscribersOf(workspaceId: string, db: ReadDatabase): readonly Subscriber[] {
  const known = remembered.get(db) ?? new Map<string, readonly Subscriber[]>();
  const found = known.get(workspaceId);
  if (found) return found;
  const sql = "SELECT id, event_types, active FROM endpoints WHERE workspace_id = ?";
  const subscribers = db.all(sql, workspaceId).map(({ id, event_types: types, active }): Subscriber => {
    const wanted = types === null ? null : (JSON.parse(String(types)) as string[]);
    return { id: String(id), isActive: active === 1, types: wanted };
  });
  if (known.size >= REMEMBERED_WORKSPACES_MAX) known.clear();
  known.set(workspaceId, subscribers);
  remembered.set(db, known);
  return subscribers;
}

/** The endpoints that are subscribed at this place in the log: who is active is told, who is disabled misses it. */
function fanOut(workspaceId: string, event: ProjectedEvent, db: ReadDatabase, itself?: string): void {
  const type = TOLD_AS[event.type] as string;
  for (const { id, isActive, types } of subscribersOf(workspaceId, db)) {
    if (types !== null && !types.includes(type)) continue;
    if (isActive) deliverTo(id, workspaceId, event, db);
    // An endpoint does not miss the news that it was disabled itself.
    else if (id !== itself) missBy(id, workspaceId, event, db);
  }
}

function applyToEndpoints(event: ProjectedEvent, db: ReadDatabase): void {
  const { type, data }: WebhookEvent = webhookCodec.decode(event);
  const workspaceId = event.stream.slice("webhooks-".length);
  const { endpointId: id } = data;
  remembered.delete(db);
  switch (type) {
    case "WebhookEndpointRegistered":
      db.run(ENDPOINT, id, workspaceId, data.eventTypes === null ? null : JSON.stringify(data.eventTypes));
      break;
    case "WebhookEndpointUpdated":
      if (data.eventTypes === undefined) break;
      db.run(
        "UPDATE endpoints SET event_types = ? WHERE id = ?",
        data.eventTypes === null ? null : JSON.stringify(data.eventTypes),
        id,
      );
      break;
    case "WebhookEndpointDisabled":
      db.run("UPDATE endpoints SET active = 0 WHERE id = ?", id);
      db.run(FORGET_FAILURES, id);
      fanOut(workspaceId, event, db, id);
      break;
    case "WebhookEndpointEnabled":
      db.run("UPDATE endpoints SET active = 1 WHERE id = ?", id);
      break;
    case "WebhookEndpointDeleted":
      db.run("DELETE FROM endpoints WHERE id = ?", id);
      db.run(FORGET_FAILURES, id);
      break;
    case "WebhookTestRequested":
      deliverTo(id, workspaceId, event, db);
      break;
    case "WebhookEndpointSecretRotated":
      break;
    default:
      never(type);
  }
}

type Failed = Extract<WebhookDeliveryEvent, { type: "WebhookAttemptFailed" }>["data"];

/** What a delivery's row said before an event of its own. */
interface Before {
  readonly endpointId: string;
  readonly eventId: string;
  readonly isReady: boolean;
}

function countFailure({ endpointId, eventId }: Before, data: Failed, at: string, db: ReadDatabase): void {
  if (!data.attemptBurnt) return;
  const isThere = db.get("SELECT 1 AS found FROM endpoints WHERE id = ? AND active = 1", endpointId);
  if (isThere) db.run(COUNT_FAILURE, endpointId, at, eventId);
}

function applyToDelivery(event: ProjectedEvent, db: ReadDatabase): void {
  const { type, data } = webhookDeliveryCodec.decode(event);
  const id = event.stream.slice("webhookdelivery-".length);
  const row = db.get("SELECT endpoint_id, event_id, state FROM deliveries WHERE id = ?", id);
  if (row === undefined) return;
  const before: Before = {
    endpointId: String(row.endpoint_id),
    eventId: String(row.event_id),
    isReady: row.state === "ready",
  };
  const events = event.revision + 1;
  const at = atOf(event);
  switch (type) {
    case "WebhookAttemptStarted":
      db.run(STARTED, data.attempt, data.leaseMs, events, at, id);
      break;
    case "WebhookDelivered":
      db.run(ENDED, "delivered", events, at, id);
      db.run(FORGET_FAILURES, before.endpointId);
      break;
    case "WebhookAttemptFailed": {
      const dueAt = data.nextAttemptAt === undefined ? 0 : epochMs(data.nextAttemptAt);
      db.run(FAILED, dueAt, events, at, id, data.attempt);
      countFailure(before, data, at, db);
      break;
    }
    case "WebhookDeliveryExhausted":
      db.run(ENDED, "exhausted", events, at, id);
      break;
    case "WebhookDeliverySkipped":
      db.run(ENDED, "skipped", events, at, id);
      break;
    case "WebhookRedeliveryRequested":
      db.run(AGAIN, epochMs(data.at), events, at, id);
      break;
    default:
      never(type);
  }
  // A claim that was got through with leaves the backlog as it was.
  if (before.isReady || type !== "WebhookDelivered") db.run(BACKLOG_ANEW, before.endpointId);
}

/**
 * A log that was cut off must give the same rows as one that is cut off from here on: the deliveries of what goes are
 * forgotten, and failures, some of which may have been theirs, are counted anew. Happens only when somebody is erased
 * who was suppressed more than once.
 */
function applyErasure(event: ProjectedEvent, db: ReadDatabase): void {
  const { type, data } = suppressionCodec.decode(event);
  if (type !== "SuppressionAddressErased" || !data.cutsHistory) return;
  const last = Math.max(...data.erased.map(({ revision }) => revision));
  db.run(FORGET_ERASED, event.stream, last);
  // What goes may have been what made an endpoint forget what it had missed before.
  db.run(FORGET_MISSED_OF_WORKSPACE, data.workspaceId, missedBefore(event));
  db.run(COUNT_ANEW, data.workspaceId);
  db.run(FORGET_BACKLOGS);
  db.run(BACKLOGS_ANEW);
}

/** What is not done when the log is restored waits; what is owed from then on does not. */
function applyToAll(event: ProjectedEvent, db: ReadDatabase): void {
  const statements = event.type === "InstanceRestored" ? [HOLD_READY, HOLD_LEASED] : [RELEASE_ALL];
  for (const statement of [...statements, BACKLOGS_ANEW]) db.run(statement);
}

function isTold(event: ProjectedEvent): boolean {
  if (event.type !== "EmailDeferred") return true;
  const { type, data } = emailCodec.decode(event);
  return type === "EmailDeferred" && !NO_DELAY.has(data.reason);
}

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  if (webhookCodec.types.includes(event.type)) applyToEndpoints(event, db);
  else if (webhookDeliveryCodec.types.includes(event.type)) applyToDelivery(event, db);
  else if (event.type === "SuppressionAddressErased") applyErasure(event, db);
  else if (HOLDS.has(event.type)) applyToAll(event, db);
  else if (isTold(event)) {
    const { workspaceId } = event.metadata;
    invariant(typeof workspaceId === "string", `${event.type} names its workspace`);
    fanOut(workspaceId, event, db);
  }
}

const HOLDS: ReadonlySet<string> = new Set(HOLD_EVENTS);
const TOLD_ELSEWHERE = [...emailCodec.types, ...suppressionCodec.types].filter((type) => type in TOLD_AS);

/** Which event is owed to which endpoint, or was missed by it, and how each of these deliveries stands. */
export const webhookDeliveries: Projection = {
  name: "webhook-deliveries",
  version: 5,
  events: [
    ...TOLD_ELSEWHERE,
    "SuppressionAddressErased",
    ...webhookCodec.types,
    ...webhookDeliveryCodec.types,
    ...HOLD_EVENTS,
  ],
  tables: [
    {
      name: "endpoints",
      columns: "id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, event_types TEXT, active INTEGER NOT NULL",
      key: ["id"],
      indexes: ["CREATE INDEX endpoints_of ON endpoints (workspace_id, active)"],
    },
    {
      name: "deliveries",
      columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, endpoint_id TEXT NOT NULL, event_id TEXT NOT NULL,
        event_type TEXT NOT NULL, event_stream TEXT NOT NULL, event_revision INTEGER NOT NULL,
        created_at TEXT NOT NULL, status TEXT NOT NULL, state TEXT NOT NULL, due_at INTEGER NOT NULL,
        attempts INTEGER NOT NULL, events INTEGER NOT NULL, lease_ms INTEGER NOT NULL, updated_at TEXT NOT NULL,
        held INTEGER NOT NULL`,
      key: ["id"],
      indexes: [
        "CREATE INDEX deliveries_ready ON deliveries (endpoint_id, due_at) WHERE state = 'ready'",
        "CREATE INDEX deliveries_leased ON deliveries (id) WHERE state = 'leased'",
        "CREATE INDEX deliveries_held ON deliveries (held) WHERE held = 1",
        `CREATE INDEX deliveries_missed ON deliveries (endpoint_id, created_at) WHERE ${IS_MISSED}`,
        "CREATE INDEX deliveries_by_time ON deliveries (endpoint_id, created_at)",
        `CREATE INDEX deliveries_failed ON deliveries (endpoint_id, created_at) WHERE ${IS_FAILED}`,
      ],
    },
    {
      // When the first of an endpoint's deliveries that are ready is due; null while none is. What one endpoint
      // has waiting, however much it is, is one row to whoever looks for work for the others.
      name: "backlogs",
      columns: "endpoint_id TEXT PRIMARY KEY, due_at INTEGER",
      key: ["endpoint_id"],
      indexes: ["CREATE INDEX backlogs_due ON backlogs (due_at) WHERE due_at IS NOT NULL"],
    },
    {
      name: "failing",
      columns: `endpoint_id TEXT PRIMARY KEY, since TEXT NOT NULL, failures INTEGER NOT NULL,
        event_id TEXT NOT NULL, events INTEGER NOT NULL`,
      key: ["endpoint_id"],
    },
  ],
  apply,
};

/** A delivery, and where the event is that it tells of. */
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
  /** How many events its own stream has. */
  readonly revision: number;
  /** When the next attempt is due, if it waits for one. */
  readonly dueAt: EpochMs | null;
}

function deliveryRow(row: SqlRow): WebhookDeliveryRow {
  return {
    id: String(row.id),
    workspaceId: String(row.workspace_id),
    endpointId: String(row.endpoint_id),
    eventId: String(row.event_id),
    eventType: String(row.event_type),
    eventStream: String(row.event_stream),
    eventRevision: Number(row.event_revision),
    createdAt: String(row.created_at),
    status: row.status as WebhookDeliveryRow["status"],
    attempts: Number(row.attempts),
    updatedAt: String(row.updated_at),
    revision: Number(row.events),
    dueAt: row.state === "ready" || row.state === "held" ? Number(row.due_at) : null,
  };
}

/** Whether its endpoint was disabled when it happened, and nobody has asked for it since. */
export function isMissed({ status, revision }: WebhookDeliveryRow): boolean {
  return status === "skipped" && revision === 0;
}

/** So many deliveries of one endpoint are asked for at once: a long backlog leaves room for the others'. */
const OF_ENDPOINT_MAX = 32;

/** Deliveries that are ready, the first of each endpoint, less those of the given endpoints. */
export function readyWebhooks(
  db: ReadDatabase,
  now: EpochMs,
  without: readonly string[],
  limit: number,
): readonly WebhookDeliveryRow[] {
  const sql = `WITH held AS MATERIALIZED (SELECT value FROM json_each(?2))
    SELECT deliveries.* FROM backlogs CROSS JOIN deliveries ON deliveries.id IN
      (SELECT id FROM deliveries WHERE endpoint_id = backlogs.endpoint_id AND state = 'ready' AND due_at <= ?1
        AND id NOT IN held ORDER BY due_at LIMIT ${OF_ENDPOINT_MAX})
    WHERE backlogs.due_at <= ?1 AND backlogs.endpoint_id NOT IN held
    ORDER BY backlogs.due_at LIMIT ?3`;
  return db.all(sql, now, JSON.stringify(without), limit).map(deliveryRow);
}

/** When the next delivery becomes ready of an endpoint that has none at `now`; null when there is no such one. */
export function nextWebhookReadyAt(db: ReadDatabase, now: EpochMs): EpochMs | null {
  const row = db.get("SELECT min(due_at) AS at FROM backlogs WHERE due_at > ?", now);
  return row === undefined || row.at === null ? null : Number(row.at);
}

/** A claim that has no outcome yet. */
export interface LeasedWebhook {
  readonly id: string;
  readonly attempt: number;
  readonly leaseMs: number;
}

export function leasedWebhooks(db: ReadDatabase, limit: number): readonly LeasedWebhook[] {
  return db
    .all("SELECT id, attempts, lease_ms FROM deliveries WHERE state = 'leased' LIMIT ?", limit)
    .map((row) => ({ id: String(row.id), attempt: Number(row.attempts), leaseMs: Number(row.lease_ms) }));
}

/** An endpoint that nothing has got through to since `since`. */
export interface FailingEndpoint {
  readonly workspaceId: string;
  readonly endpointId: string;
}

/** Endpoints with at least so many failures, of at least two events, and no success since before `before`. */
export function failingEndpoints(
  db: ReadDatabase,
  before: string,
  failuresMin: number,
  limit: number,
): readonly FailingEndpoint[] {
  const sql = `SELECT endpoints.workspace_id, endpoints.id FROM failing JOIN endpoints ON endpoints.id = endpoint_id
    WHERE since <= ? AND failures >= ? AND events >= 2 AND active = 1 LIMIT ?`;
  return db
    .all(sql, before, failuresMin, limit)
    .map((row) => ({ workspaceId: String(row.workspace_id), endpointId: String(row.id) }));
}

/** Which deliveries of an endpoint to list. */
export interface WebhookDeliveryQuery {
  readonly endpointId: string;
  readonly status?: string;
  readonly eventType?: string;
  readonly createdFrom?: string;
  readonly createdBefore?: string;
  /** The last row of the page before. */
  readonly after?: ListPlace;
  readonly limit: number;
}

/** Deliveries of one endpoint, newest first. */
export function listWebhookDeliveries(
  db: ReadDatabase,
  query: WebhookDeliveryQuery,
): Found<WebhookDeliveryRow> {
  const { endpointId, status, eventType, after, limit } = query;
  const isFailed = status !== undefined && FAILED_STATUSES.includes(status);
  const { rows, next } = findRows(db, {
    ...listOf(endpointId),
    columns: "*",
    index: isFailed ? "deliveries_failed" : "deliveries_by_time",
    along: [
      ...equals("endpoint_id", endpointId),
      ...(isFailed ? [{ sql: IS_FAILED, values: [] }] : []),
      ...createdIn(query),
    ],
    wanted: [...equals("status", status), ...equals("event_type", eventType)],
    limit,
    ...(after === undefined ? {} : { after }),
  });
  return { rows: rows.map(deliveryRow), next };
}

function listOf(endpointId: string) {
  return { table: "deliveries", of: "endpoint_id", owner: endpointId };
}

/**
 * Deliveries of an endpoint, made since a time, that nobody tries any more and that did not get through: the oldest
 * first, those behind `after`.
 */
export function failedWebhooks(
  db: ReadDatabase,
  { endpointId, since }: { readonly endpointId: string; readonly since: string },
  after: ListPlace | null,
  limit: number,
): readonly WebhookDeliveryRow[] {
  const page = after && newerThan(listOf(endpointId), after);
  const sql = `SELECT * FROM deliveries INDEXED BY deliveries_failed WHERE endpoint_id = ? AND created_at >= ?
    AND ${IS_FAILED} ${page ? `AND ${page.sql}` : ""} ${OLDEST_FIRST} LIMIT ?`;
  return db.all(sql, endpointId, since, ...(page?.values ?? []), limit).map(deliveryRow);
}

/** One delivery of an endpoint; null when it has none of this id. */
export function webhookDelivery(db: ReadDatabase, endpointId: string, id: string): WebhookDeliveryRow | null {
  const row = db.get("SELECT * FROM deliveries WHERE endpoint_id = ? AND id = ?", endpointId, id);
  return row === undefined ? null : deliveryRow(row);
}

/** How many deliveries are held since the log was restored. */
export function heldWebhooks(db: ReadDatabase): number {
  return Number(db.get("SELECT count(*) AS held FROM deliveries WHERE held = 1 AND state <> 'done'")?.held);
}
