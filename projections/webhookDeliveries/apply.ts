import { emailCodec } from "../../src/domain/email/events.ts";
import { HOLD_EVENTS } from "../../src/domain/instance/events.ts";
import { suppressionCodec } from "../../src/domain/suppression/events.ts";
import { type WebhookEvent, webhookCodec } from "../../src/domain/webhook/events.ts";
import { type WebhookDeliveryEvent, webhookDeliveryCodec } from "../../src/domain/webhookDelivery/events.ts";
import { reachesEndpoints, webhookEventType } from "../../src/domain/webhookEventTypes.ts";
import { invariant, never } from "../../src/kernel/assert.ts";
import { epochMs } from "../../src/kernel/time.ts";
import type { ProjectedEvent, ReadDatabase } from "../../src/ports/readDatabase.ts";
import { atOf, idOf } from "../projection.ts";
import { listText } from "../sqlListsAndInserts.ts";
import { addDelivery, fanOut, forgetSubscribers } from "./fanOut.ts";
import { holdAll, releaseAll } from "./holdAfterRestore.ts";
import { forgetMissed } from "./missedEvents.ts";

const ENDPOINT = "INSERT INTO endpoints (id, workspace_id, event_types, active) VALUES (?, ?, ?, 1)";
const STARTED = `UPDATE deliveries SET status = 'attempting', state = 'leased', attempts = ?, lease_ms = ?,
  claimed_by = ?, events = ?, updated_at = ? WHERE id = ?`;
/** Only the attempt that holds the lease may release it. */
const FAILED = `UPDATE deliveries SET status = 'pending', state = iif(held, 'held', 'ready'), due_at = ?,
  claimed_by = NULL, events = ?, updated_at = ? WHERE id = ? AND state = 'leased' AND attempts = ?`;
const ENDED =
  "UPDATE deliveries SET status = ?, state = 'done', claimed_by = NULL, events = ?, updated_at = ? WHERE id = ?";
const AGAIN = `UPDATE deliveries SET status = 'pending', state = iif(held, 'held', 'ready'), due_at = ?, events = ?, updated_at = ?
  WHERE id = ?`;
const COUNT_FAILURE = `INSERT INTO failing (endpoint_id, since, failures, event_id, events) VALUES (?, ?, 1, ?, 1)
  ON CONFLICT DO UPDATE SET failures = failures + 1, events = events + (event_id <> excluded.event_id),
  event_id = excluded.event_id`;
const BACKLOG_ANEW = `UPDATE backlogs SET due_at =
  (SELECT min(due_at) FROM deliveries WHERE endpoint_id = ?1 AND state = 'ready') WHERE endpoint_id = ?1`;
/** Events that are no longer in the log cannot be delivered. */
const FORGET_ERASED = "DELETE FROM deliveries WHERE event_stream = ? AND event_revision <= ?";
const COUNT_ANEW = `DELETE FROM failing WHERE endpoint_id IN (SELECT id FROM endpoints WHERE workspace_id = ?)`;
const FORGET_BACKLOGS =
  "DELETE FROM backlogs WHERE NOT EXISTS (SELECT 1 FROM deliveries WHERE endpoint_id = backlogs.endpoint_id)";
const BACKLOGS_ANEW = `UPDATE backlogs SET due_at = (SELECT min(due_at) FROM deliveries
  WHERE endpoint_id = backlogs.endpoint_id AND state = 'ready')`;
const FORGET_FAILURES = "DELETE FROM failing WHERE endpoint_id = ?";

function applyToEndpoints(event: ProjectedEvent, db: ReadDatabase): void {
  const { type, data }: WebhookEvent = webhookCodec.decode(event);
  const workspaceId = idOf(event);
  const { endpointId: id } = data;
  forgetSubscribers(db);
  switch (type) {
    case "WebhookEndpointRegistered":
      db.run(ENDPOINT, id, workspaceId, listText(data.eventTypes));
      break;
    case "WebhookEndpointUpdated":
      // Failed calls to the old URL say nothing about the new one.
      if (data.url !== undefined) db.run(FORGET_FAILURES, id);
      if (data.eventTypes !== undefined)
        db.run("UPDATE endpoints SET event_types = ? WHERE id = ?", listText(data.eventTypes), id);
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
      addDelivery({ endpointId: id, workspaceId }, event, db);
      break;
    case "WebhookEndpointSecretRotated":
      break;
    default:
      never(type);
  }
}

type Failed = Extract<WebhookDeliveryEvent, { type: "WebhookAttemptFailed" }>["data"];

/** The row of a delivery before an event of its stream. */
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
  const id = idOf(event);
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
      db.run(STARTED, data.attempt, data.leaseMs, data.worker, events, at, id);
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
  // A leased delivery that succeeds does not change the backlog.
  if (before.isReady || type !== "WebhookDelivered") db.run(BACKLOG_ANEW, before.endpointId);
}

/**
 * The rows must equal those of a rebuild from the truncated log. So we delete the deliveries of the erased events, and
 * restart the count of failures, which may have been theirs. Happens only when an erased person was suppressed more
 * than once.
 */
function applyErasure(event: ProjectedEvent, db: ReadDatabase): void {
  const { type, data } = suppressionCodec.decode(event);
  if (type !== "SuppressionAddressErased" || !data.cutsHistory) return;
  const last = Math.max(...data.erased.map(({ revision }) => revision));
  db.run(FORGET_ERASED, event.stream, last);
  // An erased event may have been the one that made an endpoint forget older missed events.
  forgetMissed(data.workspaceId, event, db);
  db.run(COUNT_ANEW, data.workspaceId);
  db.run(FORGET_BACKLOGS);
  db.run(BACKLOGS_ANEW);
}

function applyHold(event: ProjectedEvent, db: ReadDatabase): void {
  if (event.type === "InstanceRestored") holdAll(db);
  else releaseAll(db);
  db.run(BACKLOGS_ANEW);
}

/** The events of which endpoints receive only some: all others need no decoding. */
const SELECTED: ReadonlySet<string> = new Set(["EmailSent", "EmailDeferred", "EmailBounced", "EmailFailed"]);

export function apply(event: ProjectedEvent, db: ReadDatabase): void {
  if (webhookCodec.types.includes(event.type)) applyToEndpoints(event, db);
  else if (webhookDeliveryCodec.types.includes(event.type)) applyToDelivery(event, db);
  else if (event.type === "SuppressionAddressErased") applyErasure(event, db);
  else if (HOLDS.has(event.type)) applyHold(event, db);
  else if (!SELECTED.has(event.type) || reachesEndpoints(emailCodec.decode(event))) {
    const { workspaceId } = event.metadata;
    invariant(typeof workspaceId === "string", `${event.type} names its workspace`);
    fanOut(workspaceId, event, db);
  }
}

const HOLDS: ReadonlySet<string> = new Set(HOLD_EVENTS);

export const EVENTS: readonly string[] = [
  ...[...emailCodec.types, ...suppressionCodec.types].filter((type) => webhookEventType(type) !== null),
  "SuppressionAddressErased",
  ...webhookCodec.types,
  ...webhookDeliveryCodec.types,
  ...HOLD_EVENTS,
];
