import { EMAIL_STATUS_EVENTS, emailCodec } from "../src/domain/email/events.ts";
import { HOLD_EVENTS } from "../src/domain/instance/events.ts";
import { type EpochMs, epochMs } from "../src/kernel/time.ts";
import type { ProjectedEvent, ReadDatabase, SqlRow } from "../src/ports/readDatabase.ts";
import type { Projection } from "./projection.ts";

const READY = `INSERT INTO due
  (id, workspace_id, sender_id, authority_id, state, due_at, accepted_at, revision, attempt, lease_ms, held)
  VALUES (?, ?, ?, ?, 'ready', ?, ?, ?, 0, 0, 0)`;
const LEASED = "UPDATE due SET state = 'leased', revision = ?, attempt = ?, lease_ms = ? WHERE id = ?";
/** Only the attempt that holds the claim can give it back. */
const DEFERRED = `UPDATE due SET state = iif(held, 'held', 'ready'), due_at = ?, revision = ?, lease_ms = 0
  WHERE id = ? AND state = 'leased' AND attempt = ?`;
const RESUMED = "UPDATE due SET due_at = ?, revision = ? WHERE id = ? AND state IN ('ready', 'held')";
const DONE = "DELETE FROM due WHERE id = ?";
const HOLD_ALL = "UPDATE due SET held = 1, state = iif(state = 'ready', 'held', state)";
const RELEASE_ALL = "UPDATE due SET held = 0, state = iif(state = 'held', 'ready', state) WHERE held = 1";

function applyToEmail(event: ProjectedEvent, db: ReadDatabase): void {
  const id = event.stream.slice("email-".length);
  const { type, data } = emailCodec.decode(event);
  switch (type) {
    case "EmailQueued": {
      const acceptedAt = epochMs(data.acceptedAt);
      const { workspaceId, senderId, authorityId = senderId } = data;
      db.run(READY, id, workspaceId, senderId, authorityId, acceptedAt, acceptedAt, event.revision);
      break;
    }
    case "EmailDeliveryStarted":
      db.run(LEASED, event.revision, data.attempt, data.leaseMs, id);
      break;
    case "EmailDeferred": {
      const dueAt = epochMs(data.nextAttemptAt);
      if (data.reason === "resumed") db.run(RESUMED, dueAt, event.revision, id);
      else db.run(DEFERRED, dueAt, event.revision, id, data.attempt);
      break;
    }
    default:
      db.run(DONE, id);
      break;
  }
}

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  if (event.type === "InstanceRestored") db.run(HOLD_ALL);
  else if (event.type === "InstanceResumed") db.run(RELEASE_ALL);
  else applyToEmail(event, db);
}

/**
 * What mail delivery has to look at: one row for each message that has not ended. A message whose log was restored
 * since is `held` where it would be `ready`, until the operator lets everything go on.
 */
export const due: Projection = {
  name: "due",
  version: 3,
  events: [...EMAIL_STATUS_EVENTS, ...HOLD_EVENTS],
  tables: [
    {
      name: "due",
      columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, sender_id TEXT NOT NULL,
        authority_id TEXT NOT NULL, state TEXT NOT NULL, due_at INTEGER NOT NULL,
        accepted_at INTEGER NOT NULL, revision INTEGER NOT NULL, attempt INTEGER NOT NULL, lease_ms INTEGER NOT NULL,
        held INTEGER NOT NULL`,
      key: ["id"],
      indexes: [
        "CREATE INDEX due_by_time ON due (state, due_at)",
        "CREATE INDEX due_by_age ON due (state, accepted_at)",
        "CREATE INDEX due_held ON due (held) WHERE held = 1",
      ],
    },
  ],
  apply,
};

/** A message that can be claimed, as far as this instance knows. `revision` is the event that made it so. */
export interface DueEmail {
  readonly id: string;
  readonly workspaceId: string;
  readonly senderId: string;
  /** The sender on whose word it may leave: `senderId`, or its domain's. */
  readonly authorityId: string;
  readonly revision: number;
}

function dueEmail(row: SqlRow): DueEmail {
  return {
    id: String(row.id),
    workspaceId: String(row.workspace_id),
    senderId: String(row.sender_id),
    authorityId: String(row.authority_id),
    revision: Number(row.revision),
  };
}

/** The messages that have been ready longest, less the given ones and those of the given workspaces and senders. */
export function readyEmails(
  db: ReadDatabase,
  now: EpochMs,
  without: readonly string[],
  limit: number,
): readonly DueEmail[] {
  const holders = JSON.stringify(without);
  const sql = `WITH held AS MATERIALIZED (SELECT value FROM json_each(?))
    SELECT id, workspace_id, sender_id, authority_id, revision FROM due WHERE state = 'ready' AND due_at <= ?
    AND workspace_id NOT IN held AND sender_id NOT IN held AND authority_id NOT IN held AND id NOT IN held
    ORDER BY due_at LIMIT ?`;
  return db.all(sql, holders, now, limit).map(dueEmail);
}

/** Messages that wait since before `acceptedBefore`, due or not: their time may be over. */
export function agedEmails(
  db: ReadDatabase,
  acceptedBefore: EpochMs,
  without: readonly string[],
  limit: number,
): readonly DueEmail[] {
  const sql = `SELECT id, workspace_id, sender_id, authority_id, revision FROM due
    WHERE state = 'ready' AND accepted_at <= ?
    AND workspace_id NOT IN (SELECT value FROM json_each(?)) ORDER BY accepted_at LIMIT ?`;
  return db.all(sql, acceptedBefore, JSON.stringify(without), limit).map(dueEmail);
}

/** When the next message becomes ready that is not so at `now`; null when none waits. */
export function nextReadyAt(db: ReadDatabase, now: EpochMs): EpochMs | null {
  const row = db.get("SELECT min(due_at) AS at FROM due WHERE state = 'ready' AND due_at > ?", now);
  return row === undefined || row.at === null ? null : Number(row.at);
}

/** How many messages are ready and still here, `max` at most. */
export function countReady(db: ReadDatabase, now: EpochMs, max: number): number {
  const sql =
    "SELECT count(*) AS waiting FROM (SELECT 1 FROM due WHERE state = 'ready' AND due_at <= ? LIMIT ?)";
  return Number(db.get(sql, now, max)?.waiting);
}

/** Whether a message is held since the log was restored. */
export function isHeld(db: ReadDatabase, id: string): boolean {
  return db.get("SELECT held FROM due WHERE id = ?", id)?.held === 1;
}

/** A claim that has no outcome yet. */
export interface LeasedEmail {
  readonly id: string;
  readonly attempt: number;
  readonly leaseMs: number;
}

/** All claims under way, of every instance: never more than there are connections, but for crashes. */
export function leasedEmails(db: ReadDatabase, limit: number): readonly LeasedEmail[] {
  return db
    .all("SELECT id, attempt, lease_ms FROM due WHERE state = 'leased' LIMIT ?", limit)
    .map((row) => ({ id: String(row.id), attempt: Number(row.attempt), leaseMs: Number(row.lease_ms) }));
}

/** Where a message stands among those that wait. */
export interface WaitingEmail {
  readonly dueAt: EpochMs;
  readonly id: string;
}

/** A message that waits, and whose it is. */
interface WaitingMessage extends WaitingEmail {
  readonly workspaceId: string;
}

/** Messages that wait for a time after `after`, deferred or held: a page in the order of their times. */
export function waitingEmails(
  db: ReadDatabase,
  after: WaitingEmail,
  limit: number,
): readonly WaitingMessage[] {
  const sql = `SELECT id, workspace_id, due_at FROM due WHERE state IN ('ready', 'held') AND (due_at, id) > (?, ?)
    ORDER BY due_at, id LIMIT ?`;
  return db.all(sql, after.dueAt, after.id, limit).map((row) => ({
    dueAt: Number(row.due_at),
    id: String(row.id),
    workspaceId: String(row.workspace_id),
  }));
}

/** Behind every message that is due at `now`: ids are uuids, which order before it. */
export function allDueAt(now: EpochMs): WaitingEmail {
  return { dueAt: now, id: "~" };
}

/** How many messages are held since the log was restored, and how many of these somebody had claimed by then. */
export function heldEmails(db: ReadDatabase): { readonly held: number; readonly claimed: number } {
  const row = db.get("SELECT count(*) AS held, total(state = 'leased') AS claimed FROM due WHERE held = 1");
  return { held: Number(row?.held), claimed: Number(row?.claimed) };
}
