import { ACCEPTANCE_REVISION, EMAIL_STATUS_EVENTS, emailCodec } from "../src/domain/email/events.ts";
import type { ProjectedEvent, ReadDatabase, SqlRow, SqlValue } from "../src/ports/readDatabase.ts";
import type { Projection } from "./projection.ts";
import { countAccepted, countBounced, countEnded, ENDED, type Ending, usageTables } from "./usage.ts";

const INSERT = `INSERT INTO emails
  (id, workspace_id, status, sender_id, template_id, recipient_hash, created_at, updated_at, attempts, reason)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?)`;
const END = `UPDATE emails SET status = ?, reason = ?, updated_at = ? WHERE id = ? AND status NOT IN ${ENDED}`;
const START = "UPDATE emails SET status = 'sending', attempts = ?, updated_at = ? WHERE id = ?";
/** Only the attempt that holds the claim can send a message back to waiting. */
const DEFER = `UPDATE emails SET status = 'deferred', reason = ?, updated_at = ?
  WHERE id = ? AND status = 'sending' AND attempts = ?`;

function messageId(event: ProjectedEvent): string {
  return event.stream.slice("email-".length);
}

function atOf(event: ProjectedEvent): string {
  return event.metadata.at as string;
}

function accept(event: ProjectedEvent, db: ReadDatabase): void {
  const { type, data } = emailCodec.decode(event);
  if (type !== "EmailQueued" && type !== "EmailSuppressed") return;
  const { workspaceId = "", senderId = "", recipientHash = "", acceptedAt = "", templateId = null } = data;
  const isSuppressed = type === "EmailSuppressed";
  const reason = type === "EmailSuppressed" ? data.reason : null;
  db.run(
    INSERT,
    messageId(event),
    workspaceId,
    isSuppressed ? "suppressed" : "queued",
    senderId,
    templateId,
    recipientHash,
    acceptedAt,
    acceptedAt,
    reason,
  );
  countAccepted(db, { workspaceId, senderId, templateId, acceptedAt, isSuppressed });
}

/** A message ends once, and its end is counted then: a later outcome leaves everything as it is. */
function end(event: ProjectedEvent, db: ReadDatabase, ending: Ending, reason: string | null): void {
  const id = messageId(event);
  const at = atOf(event);
  countEnded(db, id, ending, at);
  db.run(END, ending, reason, at, id);
}

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  if (event.revision === ACCEPTANCE_REVISION) accept(event, db);
  else applyLater(event, db);
}

function applyLater(event: ProjectedEvent, db: ReadDatabase): void {
  const id = messageId(event);
  const at = atOf(event);
  const { type, data } = emailCodec.decode(event);
  switch (type) {
    case "EmailDeliveryStarted":
      db.run(START, data.attempt, at, id);
      break;
    case "EmailDeferred":
      db.run(DEFER, data.reason, at, id, data.attempt);
      break;
    case "EmailSent":
      end(event, db, "sent", null);
      break;
    case "EmailBounced":
      countBounced(db, id, data.recipientDomain, at);
      end(event, db, "bounced", data.reason);
      break;
    case "EmailFailed":
      end(event, db, "failed", data.reason);
      break;
    case "EmailSuppressed":
      end(event, db, "suppressed", data.reason);
      break;
    case "EmailCanceled":
      end(event, db, "canceled", null);
      break;
  }
}

/** One row a message: what lists and filters need, and no address; and how many there were, by hour. */
export const emails: Projection = {
  name: "emails",
  version: 3,
  events: EMAIL_STATUS_EVENTS,
  tables: [
    {
      name: "emails",
      columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, status TEXT NOT NULL, sender_id TEXT NOT NULL,
        template_id TEXT, recipient_hash TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
        attempts INTEGER NOT NULL, reason TEXT`,
      key: ["id"],
      indexes: ["CREATE INDEX emails_by_time ON emails (workspace_id, created_at, id)"],
    },
    ...usageTables,
  ],
  apply,
};

/** Which messages to list. Times are RFC 3339 in UTC; hashes are the instance's keyed hashes of addresses. */
export interface EmailQuery {
  readonly workspaceId: string;
  readonly status?: string;
  readonly senderId?: string;
  readonly recipientHash?: string;
  readonly createdFrom?: string;
  readonly createdBefore?: string;
  /** The last row of the page before. */
  readonly after?: { readonly createdAt: string; readonly id: string };
  readonly limit: number;
}

export interface EmailRow {
  readonly id: string;
  readonly status: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly attempts: number;
  readonly reason: string | null;
}

/** Messages of one workspace, newest first. */
export function listEmails(db: ReadDatabase, query: EmailQuery): readonly EmailRow[] {
  const conditions = ["workspace_id = ?"];
  const values: SqlValue[] = [query.workspaceId];
  const add = (condition: string, value: string | undefined) => {
    if (value === undefined) return;
    conditions.push(condition);
    values.push(value);
  };
  add("status = ?", query.status);
  add("sender_id = ?", query.senderId);
  add("recipient_hash = ?", query.recipientHash);
  add("created_at >= ?", query.createdFrom);
  add("created_at < ?", query.createdBefore);
  if (query.after) {
    conditions.push("(created_at, id) < (?, ?)");
    values.push(query.after.createdAt, query.after.id);
  }
  const sql = `SELECT id, status, created_at, updated_at, attempts, reason FROM emails
    WHERE ${conditions.join(" AND ")} ORDER BY created_at DESC, id DESC LIMIT ?`;
  return db.all(sql, ...values, query.limit).map(emailRow);
}

function emailRow(row: SqlRow): EmailRow {
  return {
    id: String(row.id),
    status: String(row.status),
    createdAt: String(row.created_at),
    updatedAt: String(row.updated_at),
    attempts: Number(row.attempts),
    reason: row.reason === null ? null : String(row.reason),
  };
}
