import { type EmailEvent, emailCodec } from "../src/domain/email/events.ts";
import { type EpochMs, rfc3339 } from "../src/kernel/time.ts";
import type { ProjectedEvent, ReadDatabase } from "../src/ports/readDatabase.ts";
import type { WorkRow } from "./attachments.ts";
import type { Projection } from "./projection.ts";

const INSERT = "INSERT INTO message_files (id, workspace_id, until, has_ended) VALUES (?, ?, ?, ?)";
const ENDED = "UPDATE message_files SET has_ended = 1 WHERE id = ?";
const GONE = "DELETE FROM message_files WHERE id = ?";

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  const id = event.stream.slice("email-".length);
  const { type, data } = emailCodec.decode(event);
  switch (type) {
    case "EmailQueued":
    case "EmailSuppressed": {
      const { workspaceId = "", attachmentsUntil } = data;
      const hasEnded = type === "EmailSuppressed" ? 1 : 0;
      if (attachmentsUntil !== undefined) db.run(INSERT, id, workspaceId, attachmentsUntil, hasEnded);
      else if (hasEnded) db.run(ENDED, id);
      break;
    }
    case "EmailAttachmentsExpired":
      db.run(GONE, id);
      break;
    default:
      db.run(ENDED, id);
      break;
  }
}

const EVENTS = [
  "EmailQueued",
  "EmailSuppressed",
  "EmailSent",
  "EmailBounced",
  "EmailFailed",
  "EmailCanceled",
  "EmailAttachmentsExpired",
] as const satisfies readonly EmailEvent["type"][];

/** One row for each message that has files, until they are removed. */
export const messageFiles: Projection = {
  name: "message-files",
  version: 1,
  events: EVENTS,
  tables: [
    {
      name: "message_files",
      columns:
        "id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, until TEXT NOT NULL, has_ended INTEGER NOT NULL",
      key: ["id"],
      indexes: ["CREATE INDEX message_files_by_time ON message_files (until) WHERE has_ended = 1"],
    },
  ],
  apply,
};

/** Messages that have ended and are past their files' retention at `now`, less those of the given ids. */
export function messagesWithOldFiles(
  db: ReadDatabase,
  now: EpochMs,
  without: readonly string[],
  limit: number,
): readonly WorkRow[] {
  const sql = `SELECT id, workspace_id FROM message_files WHERE has_ended = 1 AND until <= ?
    AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY until LIMIT ?`;
  return db
    .all(sql, rfc3339(now), JSON.stringify(without), limit)
    .map((row) => ({ id: String(row.id), workspaceId: String(row.workspace_id) }));
}
