import { EMAIL_STATUS_EVENTS, emailCodec } from "../src/domain/email/events.ts";
import { HOLD_EVENTS } from "../src/domain/instance/events.ts";
import { type EpochMs, epochMs } from "../src/kernel/time.ts";
import type { ProjectedEvent, ReadDatabase, SqlRow } from "../src/ports/readDatabase.ts";
import type { Projection } from "./projection.ts";

const READY = `INSERT INTO mail_queue
  (id, workspace_id, sender_id, authority_id, state, due_at, accepted_at, revision, attempt, lease_ms, held)
  VALUES (?, ?, ?, ?, 'ready', ?, ?, ?, 0, 0, 0)`;
const LEASED = "UPDATE mail_queue SET state = 'leased', revision = ?, attempt = ?, lease_ms = ? WHERE id = ?";
/** Only the attempt that holds the lease can release it. */
const DEFERRED = `UPDATE mail_queue SET state = iif(held, 'held', 'ready'), due_at = ?, revision = ?, lease_ms = 0
  WHERE id = ? AND state = 'leased' AND attempt = ?`;
const RESUMED = "UPDATE mail_queue SET due_at = ?, revision = ? WHERE id = ? AND state IN ('ready', 'held')";
const DONE = "DELETE FROM mail_queue WHERE id = ?";
const HOLD_ALL = "UPDATE mail_queue SET held = 1, state = iif(state = 'ready', 'held', state)";
const RELEASE_ALL =
  "UPDATE mail_queue SET held = 0, state = iif(state = 'held', 'ready', state) WHERE held = 1";

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
 * The queue of mail delivery: one row for each message that has not ended. After a restoration of the log, messages
 * from before it are `held` instead of `ready`, until the operator resumes them.
 */
export const mailQueue: Projection = {
  name: "mail-queue",
  version: 1,
  events: [...EMAIL_STATUS_EVENTS, ...HOLD_EVENTS],
  tables: [
    {
      name: "mail_queue",
      columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, sender_id TEXT NOT NULL,
        authority_id TEXT NOT NULL, state TEXT NOT NULL, due_at INTEGER NOT NULL,
        accepted_at INTEGER NOT NULL, revision INTEGER NOT NULL, attempt INTEGER NOT NULL, lease_ms INTEGER NOT NULL,
        held INTEGER NOT NULL`,
      key: ["id"],
      indexes: [
        "CREATE INDEX mail_queue_by_time ON mail_queue (state, due_at)",
        "CREATE INDEX mail_queue_by_age ON mail_queue (state, accepted_at)",
        "CREATE INDEX mail_queue_held ON mail_queue (held) WHERE held = 1",
      ],
    },
  ],
  apply,
};

/** A message that can be claimed, as far as this read model knows. `revision` is the event that made it so. */
export interface DueEmail {
  readonly id: string;
  readonly workspaceId: string;
  readonly senderId: string;
  /** The sender that authorizes it: `senderId`, or the sender of its domain. */
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

/** The messages that have been ready longest. `without` are ids of messages, workspaces and senders to leave out. */
export function readyEmails(
  db: ReadDatabase,
  now: EpochMs,
  without: readonly string[],
  limit: number,
): readonly DueEmail[] {
  const sql = `WITH excluded AS MATERIALIZED (SELECT value FROM json_each(?))
    SELECT id, workspace_id, sender_id, authority_id, revision FROM mail_queue WHERE state = 'ready' AND due_at <= ?
    AND workspace_id NOT IN excluded AND sender_id NOT IN excluded AND authority_id NOT IN excluded
    AND id NOT IN excluded
    ORDER BY due_at LIMIT ?`;
  return db.all(sql, JSON.stringify(without), now, limit).map(dueEmail);
}

/** Messages accepted before `acceptedBefore`, due or not: their lifetime may be over. */
export function agedEmails(
  db: ReadDatabase,
  acceptedBefore: EpochMs,
  without: readonly string[],
  limit: number,
): readonly DueEmail[] {
  const sql = `SELECT id, workspace_id, sender_id, authority_id, revision FROM mail_queue
    WHERE state = 'ready' AND accepted_at <= ?
    AND workspace_id NOT IN (SELECT value FROM json_each(?)) ORDER BY accepted_at LIMIT ?`;
  return db.all(sql, acceptedBefore, JSON.stringify(without), limit).map(dueEmail);
}

/** When the next message becomes due after `now`; null when none waits. */
export function nextReadyAt(db: ReadDatabase, now: EpochMs): EpochMs | null {
  const row = db.get("SELECT min(due_at) AS at FROM mail_queue WHERE state = 'ready' AND due_at > ?", now);
  return row === undefined || row.at === null ? null : Number(row.at);
}

/** How many messages are due at `now`, counted up to `max`. */
export function countReady(db: ReadDatabase, now: EpochMs, max: number): number {
  const sql =
    "SELECT count(*) AS waiting FROM (SELECT 1 FROM mail_queue WHERE state = 'ready' AND due_at <= ? LIMIT ?)";
  return Number(db.get(sql, now, max)?.waiting);
}

/** Whether a message is held since a restoration of the log. */
export function isHeld(db: ReadDatabase, id: string): boolean {
  return db.get("SELECT held FROM mail_queue WHERE id = ?", id)?.held === 1;
}

/** A claim that has no outcome yet. */
export interface LeasedEmail {
  readonly id: string;
  readonly attempt: number;
  readonly leaseMs: number;
}

/** The open claims of all instances: about as many as there are connections, unless workers have crashed. */
export function leasedEmails(db: ReadDatabase, limit: number): readonly LeasedEmail[] {
  return db
    .all("SELECT id, attempt, lease_ms FROM mail_queue WHERE state = 'leased' LIMIT ?", limit)
    .map((row) => ({ id: String(row.id), attempt: Number(row.attempt), leaseMs: Number(row.lease_ms) }));
}

/** The position of a message in the order of waiting messages. */
export interface WaitingEmail {
  readonly dueAt: EpochMs;
  readonly id: string;
}

/** A waiting message and its workspace. */
interface WaitingMessage extends WaitingEmail {
  readonly workspaceId: string;
}

/** A page of deferred or held messages after `after`, in the order of their times. */
export function waitingEmails(
  db: ReadDatabase,
  after: WaitingEmail,
  limit: number,
): readonly WaitingMessage[] {
  const sql = `SELECT id, workspace_id, due_at FROM mail_queue WHERE state IN ('ready', 'held') AND (due_at, id) > (?, ?)
    ORDER BY due_at, id LIMIT ?`;
  return db.all(sql, after.dueAt, after.id, limit).map((row) => ({
    dueAt: Number(row.due_at),
    id: String(row.id),
    workspaceId: String(row.workspace_id),
  }));
}

/** The position after every message that is due at `now`: `~` sorts after every uuid. */
export function allDueAt(now: EpochMs): WaitingEmail {
  return { dueAt: now, id: "~" };
}

/** How many messages are held since a restoration, and how many of them were claimed at that time. */
export function heldEmails(db: ReadDatabase): { readonly held: number; readonly claimed: number } {
  const row = db.get(
    "SELECT count(*) AS held, total(state = 'leased') AS claimed FROM mail_queue WHERE held = 1",
  );
  return { held: Number(row?.held), claimed: Number(row?.claimed) };
}
