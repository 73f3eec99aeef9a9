import { type AttachmentStatus, attachmentCodec } from "../src/domain/attachment/events.ts";
import { type EpochMs, rfc3339 } from "../src/kernel/time.ts";
import { allRows, type ProjectedEvent, type ReadDatabase } from "../src/ports/readDatabase.ts";
import {
  CURSOR_COLUMNS,
  equals,
  findRows,
  type KeysetCursor,
  type PageQuery,
  type RowPage,
} from "./keysetPagination.ts";
import { idOf, type Projection } from "./projection.ts";

const INSERT = `INSERT INTO attachments (id, workspace_id, status, created_at, expires_at, has_bytes)
  VALUES (?, ?, 'pending', ?, ?, 1)`;
/** Inserts the row too, because the upload's earlier events may be truncated. */
const ERASED = `INSERT INTO attachments (id, workspace_id, status, created_at, expires_at, has_bytes)
  VALUES (?, ?, 'expired', ?, ?, 0) ON CONFLICT DO UPDATE SET status = 'expired', has_bytes = 0`;
const MOVE = "UPDATE attachments SET status = ? WHERE id = ?";
const REMOVED = "UPDATE attachments SET has_bytes = 0 WHERE id = ?";

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  const id = idOf(event);
  const { type, data } = attachmentCodec.decode(event);
  switch (type) {
    case "AttachmentUploaded":
      db.run(INSERT, id, data.workspaceId, data.uploadedAt, data.expiresAt);
      break;
    case "AttachmentValidated":
      db.run(MOVE, "ready", id);
      break;
    case "AttachmentRejected":
      db.run(MOVE, "rejected", id);
      break;
    case "AttachmentExpired":
      db.run(MOVE, "expired", id);
      break;
    case "AttachmentBytesRemoved":
      db.run(REMOVED, id);
      break;
    case "AttachmentErased":
      db.run(ERASED, id, data.workspaceId, data.uploadedAt, data.expiresAt);
      break;
  }
}

/** One row per upload: what lists filter by, and the work left to do. Its file name is only in its own stream. */
export const attachments: Projection<"attachments"> = {
  name: "attachments",
  version: 3,
  events: attachmentCodec.types,
  tables: [
    {
      name: "attachments",
      columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, status TEXT NOT NULL, created_at TEXT NOT NULL,
        expires_at TEXT NOT NULL, has_bytes INTEGER NOT NULL`,
      key: ["id"],
      indexes: [
        "CREATE INDEX attachments_by_time ON attachments (workspace_id, created_at)",
        "CREATE INDEX attachments_pending ON attachments (created_at) WHERE status = 'pending'",
        "CREATE INDEX attachments_by_expiry ON attachments (expires_at) WHERE status <> 'expired'",
        "CREATE INDEX attachments_spent ON attachments (id) WHERE has_bytes = 1 AND status IN ('rejected', 'expired')",
      ],
    },
  ],
  apply,
};

/** Which uploads to list. */
export interface AttachmentQuery extends PageQuery {
  readonly workspaceId: string;
  readonly status?: AttachmentStatus;
}

/** Uploads of one workspace, newest first. */
export function listAttachments(db: ReadDatabase, query: AttachmentQuery): RowPage<KeysetCursor> {
  const { workspaceId: owner, status } = query;
  return findRows(db, query, {
    ...{ table: "attachments", of: "workspace_id", owner },
    columns: CURSOR_COLUMNS,
    index: "attachments_by_time",
    along: equals("workspace_id", owner),
    wanted: equals("status", status),
  });
}

/** An upload, message or erasure request that has work to do. */
export interface WorkRow {
  readonly id: string;
  readonly workspaceId: string;
}

export const WORK_COLUMNS = "id, workspace_id AS workspaceId";

/** Uploads waiting for their check, oldest first, except those with the given ids. */
export function pendingUploads(
  db: ReadDatabase,
  without: readonly string[],
  limit: number,
): readonly WorkRow[] {
  const sql = `SELECT ${WORK_COLUMNS} FROM attachments WHERE status = 'pending'
    AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY created_at LIMIT ? + 0`;
  return allRows(db, sql, JSON.stringify(without), limit);
}

/** Uploads that expire by `now`, and those whose bytes must be removed, except those with the given ids. */
export function endedUploads(
  db: ReadDatabase,
  now: EpochMs,
  without: readonly string[],
  limit: number,
): readonly WorkRow[] {
  const others = JSON.stringify(without);
  const overdue = `SELECT ${WORK_COLUMNS} FROM attachments WHERE status <> 'expired' AND expires_at <= ?
    AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY expires_at LIMIT ? + 0`;
  const spent = `SELECT ${WORK_COLUMNS} FROM attachments WHERE has_bytes = 1 AND status IN ('rejected', 'expired')
    AND id NOT IN (SELECT value FROM json_each(?)) LIMIT ? + 0`;
  const rows = [
    ...allRows<WorkRow>(db, overdue, rfc3339(now), others, limit),
    ...allRows<WorkRow>(db, spent, others, limit),
  ];
  // A rejected upload past its time is in both.
  return [...new Map(rows.map((row) => [row.id, row])).values()];
}
