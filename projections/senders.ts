import { HOLD_EVENTS } from "../src/domain/instance/events.ts";
import { senderCodec } from "../src/domain/sender/events.ts";
import { type EpochMs, epochMs } from "../src/kernel/time.ts";
import { allRows, type ProjectedEvent, type ReadDatabase } from "../src/ports/readDatabase.ts";
import { type KeysetCursor, newestOfWorkspace, type WorkspacePageQuery } from "./keysetPagination.ts";
import { LEASE_COLUMNS, type Lease } from "./lease.ts";
import { atOf, idOf, type Projection } from "./projection.ts";

const ADDED = "INSERT INTO senders (id, workspace_id, created_at) VALUES (?, ?, ?)";
const REQUESTED = `INSERT INTO verification_mails (id, sender_id, state, due_at, attempt, lease_ms, held)
  VALUES (?, ?, 'ready', ?, 0, 0, 0)`;
const STARTED =
  "UPDATE verification_mails SET state = 'leased', attempt = ?, lease_ms = ?, claimed_by = ? WHERE id = ?";
const AGAIN = `UPDATE verification_mails SET state = iif(held, 'held', 'ready'), due_at = ?, lease_ms = 0, claimed_by = NULL
  WHERE id = ? AND attempt = ?`;
const GIVEN_UP = "DELETE FROM verification_mails WHERE id = ? AND attempt = ?";
const SENT = "DELETE FROM verification_mails WHERE id = ?";
const HOLD_ALL = "UPDATE verification_mails SET held = 1, state = iif(state = 'ready', 'held', state)";
const RELEASE_ALL = `UPDATE verification_mails SET held = 0, state = iif(state = 'held', 'ready', state)
  WHERE held = 1`;
const VERIFIED_BY_RECORD = "UPDATE senders SET by_record = 1 WHERE id = ?";
const VERIFIED = "DELETE FROM verification_mails WHERE sender_id = ?";

function applyToSender(event: ProjectedEvent, db: ReadDatabase): void {
  const senderId = idOf(event);
  const { type, data } = senderCodec.decode(event);
  switch (type) {
    case "SenderAdded":
    case "SenderDomainAdded":
      db.run(ADDED, senderId, data.workspaceId, atOf(event));
      break;
    case "SenderVerificationRequested":
      db.run(REQUESTED, data.requestId, senderId, epochMs(data.requestedAt));
      break;
    case "SenderVerificationMailStarted":
      db.run(STARTED, data.attempt, data.leaseMs, data.worker, data.requestId);
      break;
    case "SenderVerificationMailFailed":
      if (data.nextAttemptAt === undefined) db.run(GIVEN_UP, data.requestId, data.attempt);
      else db.run(AGAIN, epochMs(data.nextAttemptAt), data.requestId, data.attempt);
      break;
    case "SenderVerificationMailSent":
      db.run(SENT, data.requestId);
      break;
    case "SenderVerified":
      db.run(VERIFIED, senderId);
      if (data.method === "dns") db.run(VERIFIED_BY_RECORD, senderId);
      break;
  }
}

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  if (event.type === "InstanceRestored") db.run(HOLD_ALL);
  else if (event.type === "InstanceResumed") db.run(RELEASE_ALL);
  else applyToSender(event, db);
}

/**
 * The senders of each workspace, by id only, and the verification mails still to be sent. A mail that was ready when
 * the log was restored is `held` until delivery is resumed.
 */
export const senders: Projection<"senders"> = {
  name: "senders",
  version: 5,
  events: [
    "SenderAdded",
    "SenderDomainAdded",
    "SenderVerified",
    "SenderVerificationRequested",
    "SenderVerificationMailStarted",
    "SenderVerificationMailSent",
    "SenderVerificationMailFailed",
    ...HOLD_EVENTS,
  ],
  tables: [
    {
      name: "senders",
      columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, created_at TEXT NOT NULL,
        by_record INTEGER NOT NULL DEFAULT 0`,
      key: ["id"],
      indexes: [
        "CREATE INDEX senders_by_time ON senders (workspace_id, created_at)",
        "CREATE INDEX senders_by_record ON senders (id) WHERE by_record = 1",
      ],
    },
    {
      name: "verification_mails",
      columns: `id TEXT PRIMARY KEY, sender_id TEXT NOT NULL, state TEXT NOT NULL, due_at INTEGER NOT NULL,
        attempt INTEGER NOT NULL, lease_ms INTEGER NOT NULL, claimed_by TEXT, held INTEGER NOT NULL`,
      key: ["id"],
      indexes: [
        "CREATE INDEX mails_by_time ON verification_mails (state, due_at)",
        "CREATE INDEX mails_by_sender ON verification_mails (sender_id)",
      ],
    },
  ],
  apply,
};

/** Senders of one workspace, newest first. */
export function listSenders(db: ReadDatabase, query: WorkspacePageQuery): readonly KeysetCursor[] {
  return newestOfWorkspace(db, { table: "senders" }, query);
}

/** How many senders the workspace has, counted up to `max`. */
export function countSenders(db: ReadDatabase, workspaceId: string, max: number): number {
  const sql = "SELECT count(*) AS count FROM (SELECT 1 FROM senders WHERE workspace_id = ? LIMIT ? + 0)";
  return Number(db.get(sql, workspaceId, max)?.count);
}

/** The domains of all workspaces that were verified by a DNS record, in order of id. */
export function domainsVerifiedByRecord(db: ReadDatabase, after: string, limit: number): readonly string[] {
  const sql = "SELECT id FROM senders WHERE by_record = 1 AND id > ? ORDER BY id LIMIT ? + 0";
  return db.all(sql, after, limit).map((row) => String(row.id));
}

/** A verification mail to be sent. `id` is its request's id, `attempt` the number of its last claim. */
export interface VerificationMail extends Lease {
  readonly senderId: string;
}

const MAIL_COLUMNS = `${LEASE_COLUMNS}, attempt, sender_id AS senderId`;

/** The unclaimed mails that are due, longest waiting first. */
export function readyVerificationMails(
  db: ReadDatabase,
  now: EpochMs,
  limit: number,
): readonly VerificationMail[] {
  const sql = `SELECT ${MAIL_COLUMNS} FROM verification_mails
    WHERE state = 'ready' AND due_at <= ? ORDER BY due_at LIMIT ? + 0`;
  return allRows(db, sql, now, limit);
}

/** The open claims of all instances. */
export function leasedVerificationMails(db: ReadDatabase, limit: number): readonly VerificationMail[] {
  const sql = `SELECT ${MAIL_COLUMNS} FROM verification_mails WHERE state = 'leased' LIMIT ? + 0`;
  return allRows(db, sql, limit);
}

/** How many verification mails are held because the log was restored. */
export function heldVerificationMails(db: ReadDatabase): number {
  return Number(db.get("SELECT count(*) AS held FROM verification_mails WHERE held = 1")?.held);
}
