import {
  ACCEPTANCE_REVISION,
  EMAIL_STATUS_EVENTS,
  type EmailEvent,
  emailCodec,
} from "../src/domain/email/events.ts";
import { HOLD_EVENTS } from "../src/domain/instance/events.ts";
import { mailOwnerId, mailOwnerIdsOf } from "../src/kernel/mail/mailOwner.ts";
import { epochMs } from "../src/kernel/time.ts";
import type { ProjectedEvent, ProjectedRows, ReadDatabase, SqlRow } from "../src/ports/readDatabase.ts";
import {
  createdIn,
  cursorOf,
  equals,
  findRows,
  type KeysetCursor,
  NEWEST_FIRST,
  newerThan,
  OLDEST_FIRST,
  type RowPage,
} from "./keysetList.ts";
import {
  holdAll,
  LEASED,
  moveQueued,
  NOT_QUEUED,
  QUEUE_COLUMNS,
  QUEUE_INDEXES,
  READY_AGAIN,
  releaseAll,
  resume,
} from "./mailQueue.ts";
import type { Projection } from "./projection.ts";
import { type CountedMessage, countAccepted, countBounced, countEnded } from "./usage/apply.ts";
import { ENDED, type Ending, type Feedback, usageTables } from "./usage/tables.ts";

const INSERT = `INSERT INTO emails
  (id, workspace_id, status, sender_id, template_id, recipient_hash, created_at, updated_at, attempts, reason,
    is_retained, content_bytes, authority_id, queue, due_at, revision, scheduled_at, tags, simulated, lease_ms, held)
  VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?7, 0, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, 0, 0)`;
const TAGGED = "INSERT INTO email_tags (tag, id, workspace_id, created_at) VALUES (?, ?, ?, ?)";
const CONTENT_BYTES = `INSERT INTO content (workspace_id, bytes) VALUES (?, ?)
  ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes`;
/** A message ends once: what comes later finds nothing to change. */
const END = `UPDATE emails SET status = ?, reason = ?, updated_at = ?, is_retained = 1, ${NOT_QUEUED}
  WHERE id = ? AND status NOT IN ${ENDED} RETURNING workspace_id, sender_id, template_id, tags`;
/** Feedback on a message that a relay has taken; `from` are the statuses that it supersedes. */
const feedbackAfter = (from: readonly string[]) => `UPDATE emails SET status = ?, reason = ?, updated_at = ?,
  is_retained = iif(status IN ('sending', 'deferred'), 1, is_retained), ${NOT_QUEUED} WHERE id = ? AND status IN (${from.map((status) => `'${status}'`).join(", ")})
  RETURNING workspace_id, sender_id, template_id, tags`;
const BEFORE_DELIVERED = ["sending", "deferred", "sent"];
const APPLY_FEEDBACK: Readonly<Record<Feedback, string>> = {
  delivered: feedbackAfter(BEFORE_DELIVERED),
  bounced: feedbackAfter([...BEFORE_DELIVERED, "delivered"]),
  complained: feedbackAfter([...BEFORE_DELIVERED, "delivered"]),
};
const CONTENT_OF = "SELECT workspace_id, content_bytes FROM emails WHERE id = ?";
const ERASED = "UPDATE emails SET is_retained = 0, content_bytes = 0 WHERE id = ?";
const START = `UPDATE emails SET status = 'sending', attempts = ?, updated_at = ?, ${LEASED} WHERE id = ?`;
/** Only the attempt that holds the claim can send a message back to waiting. */
const DEFER = `UPDATE emails SET status = 'deferred', reason = ?, updated_at = ?, ${READY_AGAIN}
  WHERE id = ? AND status = 'sending' AND attempts = ?`;

/**
 * Statuses that few messages have: those are found by an index that the others do not pay for. Of the rest, `sent` and
 * `delivered` are found anywhere, and what is under way is found among the newest.
 */
const RARE_STATUSES: readonly string[] = [
  "scheduled",
  "deferred",
  "bounced",
  "complained",
  "failed",
  "suppressed",
  "canceled",
];
const IS_RARE = `status IN (${RARE_STATUSES.map((status) => `'${status}'`).join(", ")})`;
/** The beginning of the hash is enough to find few others beside, and makes an index half as large. */
const RECIPIENT_KEY_CHARACTERS = 12;
const RECIPIENT_KEY = `substr(recipient_hash, 1, ${RECIPIENT_KEY_CHARACTERS})`;

function recipientKey(recipientHash: string): string {
  return recipientHash.slice(0, RECIPIENT_KEY_CHARACTERS);
}

function messageId(event: ProjectedEvent): string {
  return event.stream.slice("email-".length);
}

function atOf(event: ProjectedEvent): string {
  return event.metadata.at as string;
}

function accept(event: ProjectedEvent, db: ProjectedRows): void {
  const { type, data } = emailCodec.decode(event);
  if (type !== "EmailQueued" && type !== "EmailScheduled" && type !== "EmailSuppressed") return;
  const { workspaceId = "", senderId = "", recipientHash = "", acceptedAt = "", templateId = null } = data;
  const { contentBytes = 0, tagHashes = [], test: isTest = false, simulated = false } = data;
  const tags = tagHashes.length === 0 ? null : tagHashes.join(" ");
  const ownerId = mailOwnerId({ workspaceId, isTest });
  const messageKey = [messageId(event), ownerId] as const;
  const last = [tags, simulated ? 1 : 0] as const;
  const whose = [senderId, templateId, recipientHash, acceptedAt] as const;
  if (type === "EmailSuppressed") {
    const queue = [null, null, null, null, null] as const;
    db.run(INSERT, ...messageKey, "suppressed", ...whose, data.reason, 1, contentBytes, ...queue, ...last);
  } else {
    const scheduledAt = type === "EmailScheduled" ? data.scheduledAt : null;
    const dueAt = epochMs(scheduledAt ?? acceptedAt);
    const queue = [data.authorityId ?? senderId, "ready", dueAt, event.revision, scheduledAt] as const;
    const status = type === "EmailScheduled" ? "scheduled" : "queued";
    db.run(INSERT, ...messageKey, status, ...whose, null, 0, contentBytes, ...queue, ...last);
  }
  for (const tag of tagHashes) db.run(TAGGED, tag, ...messageKey, acceptedAt);
  db.add(CONTENT_BYTES, [ownerId], [contentBytes]);
  countAccepted(
    db,
    { ownerId, senderId, templateId, tags: tagHashes },
    acceptedAt,
    type === "EmailSuppressed",
  );
}

/** The message, when it ends by this; undefined when it had ended before: then everything stays as it is. */
function end(
  event: ProjectedEvent,
  db: ProjectedRows,
  ending: Ending,
  reason: string | null,
): CountedMessage | undefined {
  return count(event, db, ending, db.change(END, ending, reason, atOf(event), messageId(event)));
}

/** As {@link end}, for feedback. */
function applyFeedback(
  event: ProjectedEvent,
  db: ProjectedRows,
  feedback: Feedback,
  reason: string | null,
): CountedMessage | undefined {
  return count(
    event,
    db,
    feedback,
    db.change(APPLY_FEEDBACK[feedback], feedback, reason, atOf(event), messageId(event)),
  );
}

/** Counts what has become of the message of this row. */
function count(
  event: ProjectedEvent,
  db: ProjectedRows,
  ending: Ending | Feedback,
  row: SqlRow | undefined,
): CountedMessage | undefined {
  if (row === undefined) return undefined;
  const templateId = row.template_id === null ? null : String(row.template_id);
  const tags = row.tags === null ? [] : String(row.tags).split(" ");
  const message = {
    ownerId: String(row.workspace_id),
    senderId: String(row.sender_id),
    templateId,
    tags,
  };
  countEnded(db, message, atOf(event), ending);
  return message;
}

function bounce(
  event: ProjectedEvent,
  db: ProjectedRows,
  { reason, recipientDomain, source }: Extract<EmailEvent, { type: "EmailBounced" }>["data"],
): void {
  const message =
    source === undefined ? end(event, db, "bounced", reason) : applyFeedback(event, db, "bounced", reason);
  if (message) countBounced(db, message, atOf(event), recipientDomain);
}

/** A repeat finds no bytes there any more. */
function eraseContent(id: string, db: ProjectedRows): void {
  const row = db.get(CONTENT_OF, id);
  if (row === undefined) return;
  db.add(CONTENT_BYTES, [String(row.workspace_id)], [-Number(row.content_bytes)]);
  db.run(ERASED, id);
}

function apply(event: ProjectedEvent, db: ProjectedRows): void {
  if (event.type === "InstanceRestored") holdAll(db);
  else if (event.type === "InstanceResumed") releaseAll(db);
  else if (event.revision === ACCEPTANCE_REVISION) accept(event, db);
  else applyLater(event, db);
}

function applyLater(event: ProjectedEvent, db: ProjectedRows): void {
  const id = messageId(event);
  const at = atOf(event);
  const { type, data } = emailCodec.decode(event);
  switch (type) {
    case "EmailDeliveryStarted":
      db.run(START, data.attempt, at, event.revision, data.leaseMs, id);
      break;
    case "EmailRescheduled":
      moveQueued(db, id, data.scheduledAt, event.revision);
      break;
    case "EmailDeferred": {
      const dueAt = epochMs(data.nextAttemptAt);
      if (data.reason === "resumed") resume(db, id, dueAt, event.revision);
      else db.run(DEFER, data.reason, at, dueAt, event.revision, id, data.attempt);
      break;
    }
    case "EmailSent":
      end(event, db, "sent", null);
      break;
    case "EmailBounced":
      bounce(event, db, data);
      break;
    case "EmailDelivered":
      applyFeedback(event, db, "delivered", null);
      break;
    case "EmailComplained":
      applyFeedback(event, db, "complained", null);
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
    case "EmailContentErased":
      eraseContent(id, db);
      break;
  }
}

/**
 * One row a message: what lists, filters and the queue of delivery need, and no address; and how many there were, by
 * hour. `workspace_id` is here the id of the mail's owner: of test mail it is not the workspace's own (`mailOwnerId`), so
 * that no list and no count of live mail meets it.
 */
export const emails: Projection = {
  name: "emails",
  version: 13,
  events: [...EMAIL_STATUS_EVENTS, "EmailRescheduled", "EmailContentErased", ...HOLD_EVENTS],
  tables: [
    {
      name: "emails",
      columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, status TEXT NOT NULL, sender_id TEXT NOT NULL,
        template_id TEXT, recipient_hash TEXT NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
        attempts INTEGER NOT NULL, reason TEXT, is_retained INTEGER NOT NULL, content_bytes INTEGER NOT NULL,
        ${QUEUE_COLUMNS}, tags TEXT`,
      key: ["id"],
      indexes: [
        "CREATE INDEX emails_by_time ON emails (workspace_id, created_at)",
        `CREATE INDEX emails_by_recipient ON emails (${RECIPIENT_KEY}, created_at)`,
        `CREATE INDEX emails_by_rare_status ON emails (workspace_id, status, created_at) WHERE ${IS_RARE}`,
        // Those that have ended and whose content was not erased.
        "CREATE INDEX emails_retained ON emails (workspace_id, created_at) WHERE is_retained = 1",
        ...QUEUE_INDEXES,
      ],
    },
    {
      // One row for each tag of a message, by the tag's keyed hash: a message without tags has none.
      name: "email_tags",
      columns: `tag TEXT NOT NULL, id TEXT NOT NULL, workspace_id TEXT NOT NULL, created_at TEXT NOT NULL,
        PRIMARY KEY (tag, id)`,
      key: ["tag", "id"],
      indexes: ["CREATE INDEX email_tags_by_time ON email_tags (tag, created_at)"],
    },
    {
      // The sum of what the messages' rows say, because there may be millions of them.
      name: "content",
      columns: "workspace_id TEXT PRIMARY KEY, bytes INTEGER NOT NULL",
      key: ["workspace_id"],
    },
    ...usageTables,
  ],
  apply,
};

/** Bytes of content of a mail owner's messages, as it was accepted, less what was erased. */
export function contentBytesOf(db: ReadDatabase, ownerId: string): number {
  return Number(db.get("SELECT bytes FROM content WHERE workspace_id = ?", ownerId)?.bytes ?? 0);
}

/** Which messages to list. Times are RFC 3339 in UTC; hashes are the instance's keyed hashes of addresses. */
export interface EmailQuery {
  /** Whose mail: see `mailOwnerId`. */
  readonly ownerId: string;
  readonly status?: string;
  readonly senderId?: string;
  readonly recipientHash?: string;
  readonly templateId?: string;
  /** The keyed hash of a tag. */
  readonly tag?: string;
  readonly createdFrom?: string;
  readonly createdBefore?: string;
  /** The last row of the page before. */
  readonly after?: KeysetCursor;
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

function listOf(ownerId: string) {
  return { table: "emails", of: "workspace_id", owner: ownerId };
}

/** Messages of one mail owner, newest first. */
export function listEmails(db: ReadDatabase, query: EmailQuery): RowPage<EmailRow> {
  if (query.tag !== undefined) return listTagged(db, query, query.tag);
  const { ownerId, status, senderId, recipientHash, templateId, after, limit } = query;
  const { index, along } = wayTo(query);
  const wanted = [
    ...equals("workspace_id", index === "emails_by_time" ? undefined : ownerId),
    ...equals("recipient_hash", recipientHash),
    ...equals("sender_id", senderId),
    ...equals("status", status),
    ...equals("template_id", templateId),
  ];
  const { rows, next } = findRows(db, {
    ...listOf(ownerId),
    columns: "id, status, created_at, updated_at, attempts, reason",
    index,
    along: [...along, ...createdIn(query)],
    wanted,
    limit,
    ...(after === undefined ? {} : { after }),
  });
  return { rows: rows.map(emailRow), next };
}

const EMAIL_BY_ID = "SELECT id, status, created_at, updated_at, attempts, reason FROM emails WHERE id = ?";

/** Messages with a tag: the tag leads to them, and what else is asked of them is looked up in their rows. */
function listTagged(db: ReadDatabase, query: EmailQuery, tag: string): RowPage<EmailRow> {
  const { ownerId, after, limit } = query;
  const filters = [
    ...equals("recipient_hash", query.recipientHash),
    ...equals("sender_id", query.senderId),
    ...equals("status", query.status),
    ...equals("template_id", query.templateId),
  ];
  const condition = ["emails.id = email_tags.id", ...filters.map(({ sql }) => sql)].join(" AND ");
  const { rows, next } = findRows(db, {
    ...{ table: "email_tags", of: "tag", owner: tag },
    columns: "id, created_at",
    index: "email_tags_by_time",
    along: [...equals("tag", tag), ...createdIn(query)],
    wanted: [
      ...equals("workspace_id", ownerId),
      {
        sql: `EXISTS (SELECT 1 FROM emails WHERE ${condition})`,
        values: filters.flatMap(({ values }) => values),
      },
    ],
    limit,
    ...(after === undefined ? {} : { after }),
  });
  const found = rows.map((row) => db.get(EMAIL_BY_ID, String(row.id))).filter((row) => row !== undefined);
  return { rows: found.map(emailRow), next };
}

/** The newest message with a tag, whose content says how that is spelled; null when there is none. One row. */
export function newestTagged(db: ReadDatabase, tag: string): string | null {
  const sql = `SELECT id FROM email_tags INDEXED BY email_tags_by_time WHERE tag = ? ${NEWEST_FIRST} LIMIT 1`;
  const row = db.get(sql, tag);
  return row === undefined ? null : String(row.id);
}

/** The index that leads past the fewest rows that are not wanted. */
function wayTo({ ownerId, status, recipientHash }: EmailQuery) {
  if (recipientHash !== undefined) {
    return { index: "emails_by_recipient", along: equals(RECIPIENT_KEY, recipientKey(recipientHash)) };
  }
  if (status !== undefined && RARE_STATUSES.includes(status)) {
    // The second condition is the index's own, word for word: else SQLite does not see that the index has the rows.
    const isRare = { sql: IS_RARE, values: [] };
    return {
      index: "emails_by_rare_status",
      along: [...equals("workspace_id", ownerId), ...equals("status", status), isRare],
    };
  }
  return { index: "emails_by_time", along: equals("workspace_id", ownerId) };
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

/** The mail owners that have messages whose content can be erased, and when the first of them was accepted. */
export function workspacesRetaining(
  db: ReadDatabase,
): readonly { readonly ownerId: string; readonly since: string }[] {
  // Goes from one owner to the next by the index, past all messages in between.
  const sql = `WITH RECURSIVE retaining (workspace) AS (
      SELECT min(workspace_id) FROM emails WHERE is_retained = 1
      UNION ALL
      SELECT (SELECT min(workspace_id) FROM emails WHERE is_retained = 1 AND workspace_id > retaining.workspace)
        FROM retaining WHERE retaining.workspace IS NOT NULL)
    SELECT workspace, (SELECT min(created_at) FROM emails WHERE is_retained = 1 AND workspace_id = workspace) AS since
      FROM retaining WHERE workspace IS NOT NULL`;
  return db.all(sql).map((row) => ({ ownerId: String(row.workspace), since: String(row.since) }));
}

/** Messages of a mail owner that have ended, were accepted at `before` or earlier, and still have content. */
export function oldContent(
  db: ReadDatabase,
  ownerId: string,
  before: string,
  limit: number,
): readonly string[] {
  const sql = `SELECT id FROM emails WHERE is_retained = 1 AND workspace_id = ? AND created_at <= ?
    ORDER BY created_at LIMIT ?`;
  return db.all(sql, ownerId, before, limit).map((row) => String(row.id));
}

/** Live and test messages to one recipient, the oldest first, and where to go on; null after the last. */
export function emailsToRecipient(
  db: ReadDatabase,
  { workspaceId, recipientHash }: { readonly workspaceId: string; readonly recipientHash: string },
  after: KeysetCursor | null,
  limit: number,
): { readonly found: readonly KeysetCursor[]; readonly next: KeysetCursor | null } {
  const list = { table: "emails", of: "recipient_hash", owner: recipientHash };
  const page = after && newerThan(list, after);
  const sql = `SELECT id, created_at FROM emails INDEXED BY emails_by_recipient
    WHERE ${RECIPIENT_KEY} = ? ${page ? `AND ${page.sql}` : ""} AND recipient_hash = ? AND workspace_id IN (?, ?)
    ${OLDEST_FIRST} LIMIT ?`;
  const owners = mailOwnerIdsOf(workspaceId);
  const values = [recipientKey(recipientHash), ...(page?.values ?? []), recipientHash, ...owners];
  const found = db.all(sql, ...values, limit).map(cursorOf);
  return { found, next: found.length < limit ? null : (found.at(-1) ?? null) };
}

/** The last message that a mail owner was given; null before its first. One row. */
export function newestEmail(
  db: ReadDatabase,
  ownerId: string,
): (KeysetCursor & { readonly status: string }) | null {
  const row = db.get(
    `SELECT id, created_at, status FROM emails INDEXED BY emails_by_time WHERE workspace_id = ? ${NEWEST_FIRST} LIMIT 1`,
    ownerId,
  );
  return row === undefined ? null : { ...cursorOf(row), status: String(row.status) };
}

/** How many messages of one minute have come to one status. */
export interface MinuteCount {
  /** RFC 3339 to the minute: `2026-11-22T04:19`. */
  readonly minute: string;
  readonly status: string;
  readonly messages: number;
}

/** Messages accepted since a time, by minute and by what they are now: the newest of them, `limit` at most. */
export function countsByMinute(
  db: ReadDatabase,
  ownerId: string,
  since: string,
  limit: number,
): readonly MinuteCount[] {
  const sql = `SELECT substr(created_at, 1, 16) AS minute, status, count(*) AS messages FROM
      (SELECT created_at, status FROM emails INDEXED BY emails_by_time WHERE workspace_id = ? AND created_at >= ?
        ${NEWEST_FIRST} LIMIT ?)
    GROUP BY minute, status`;
  return db.all(sql, ownerId, since, limit).map((row) => ({
    minute: String(row.minute),
    status: String(row.status),
    messages: Number(row.messages),
  }));
}
