import { type AcceptanceEvent, EMAIL_ENDS, emailCodec, isAcceptance } from "../src/domain/email/events.ts";
import { type EpochMs, rfc3339 } from "../src/kernel/time.ts";
import { allRows, type ProjectedEvent, type ReadDatabase } from "../src/ports/readDatabase.ts";
import { WORK_COLUMNS, type WorkRow } from "./attachments.ts";
import { CURSOR_COLUMNS, type KeysetCursor, newestRows, type PageQuery } from "./keysetPagination.ts";
import { idOf, type Projection } from "./projection.ts";

const INSERT = "INSERT INTO message_files (id, workspace_id, until, has_ended) VALUES (?, ?, ?, ?)";
const ENDED = "UPDATE message_files SET has_ended = 1 WHERE id = ?";
const SENT_TO =
  "INSERT INTO upload_recipients (upload_id, recipient_hash) VALUES (?, ?) ON CONFLICT DO NOTHING";
const SENT_WITH =
  "INSERT INTO upload_messages (upload_id, id, created_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING";
const GONE = "DELETE FROM message_files WHERE id = ?";

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  const id = idOf(event);
  const decoded = emailCodec.decode(event);
  if (isAcceptance(decoded)) accept(id, decoded, db);
  else db.run(decoded.type === "EmailAttachmentsExpired" ? GONE : ENDED, id);
}

function accept(id: string, { type, data }: AcceptanceEvent, db: ReadDatabase): void {
  const { workspaceId, attachmentsUntil, uploadIds = [], recipientHash, acceptedAt } = data;
  for (const uploadId of uploadIds) {
    db.run(SENT_TO, uploadId, recipientHash);
    db.run(SENT_WITH, uploadId, id, acceptedAt);
  }
  const hasEnded = type === "EmailSuppressed" ? 1 : 0;
  if (attachmentsUntil !== undefined) db.run(INSERT, id, workspaceId, attachmentsUntil, hasEnded);
}

/** The messages that have files, until the files are removed. Also each upload's recipients and messages, for good. */
export const attachmentUse: Projection<"attachment-use"> = {
  name: "attachment-use",
  version: 2,
  events: ["EmailQueued", "EmailScheduled", ...EMAIL_ENDS, "EmailAttachmentsExpired"],
  tables: [
    {
      name: "message_files",
      columns:
        "id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, until TEXT NOT NULL, has_ended INTEGER NOT NULL",
      key: ["id"],
      indexes: ["CREATE INDEX message_files_by_time ON message_files (until) WHERE has_ended = 1"],
    },
    {
      name: "upload_recipients",
      columns:
        "upload_id TEXT NOT NULL, recipient_hash TEXT NOT NULL, PRIMARY KEY (upload_id, recipient_hash)",
      key: ["upload_id", "recipient_hash"],
      indexes: ["CREATE INDEX uploads_of ON upload_recipients (recipient_hash, upload_id)"],
    },
    {
      name: "upload_messages",
      columns:
        "upload_id TEXT NOT NULL, id TEXT NOT NULL, created_at TEXT NOT NULL, PRIMARY KEY (upload_id, id)",
      key: ["upload_id", "id"],
      indexes: ["CREATE INDEX upload_messages_by_time ON upload_messages (upload_id, created_at)"],
    },
  ],
  apply,
};

/** Ended messages whose files are past their retention at `now`, except those with the given ids. */
export function messagesWithOldFiles(
  db: ReadDatabase,
  now: EpochMs,
  without: readonly string[],
  limit: number,
): readonly WorkRow[] {
  const sql = `SELECT ${WORK_COLUMNS} FROM message_files WHERE has_ended = 1 AND until <= ?
    AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY until LIMIT ? + 0`;
  return allRows(db, sql, rfc3339(now), JSON.stringify(without), limit);
}

/** Uploads that were sent to a recipient, by id after `after`, and whether others received them too. */
export function uploadsSentTo(
  db: ReadDatabase,
  recipientHash: string,
  after: string,
  limit: number,
): readonly { readonly id: string; readonly isShared: boolean }[] {
  const sql = `SELECT upload_id, EXISTS (SELECT 1 FROM upload_recipients others
      WHERE others.upload_id = theirs.upload_id AND others.recipient_hash <> theirs.recipient_hash) AS is_shared
    FROM upload_recipients theirs WHERE recipient_hash = ? AND upload_id > ? ORDER BY upload_id LIMIT ? + 0`;
  return db
    .all(sql, recipientHash, after, limit)
    .map((row) => ({ id: String(row.upload_id), isShared: row.is_shared === 1 }));
}

/** The messages accepted with an upload, newest first. `createdAt` is when a message was accepted. */
export function messagesWithUpload(
  db: ReadDatabase,
  { uploadId: owner, ...page }: PageQuery & { readonly uploadId: string },
): readonly KeysetCursor[] {
  const list = { table: "upload_messages", of: "upload_id", owner, columns: CURSOR_COLUMNS };
  return newestRows(db, list, page);
}
