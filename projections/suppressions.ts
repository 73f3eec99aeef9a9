import { suppressionCodec } from "../src/domain/suppression/events.ts";
import { firstRow, type ProjectedEvent, type ReadDatabase } from "../src/ports/readDatabase.ts";
import {
  type CreatedRange,
  CURSOR_COLUMNS,
  equals,
  findRows,
  type PageQuery,
  type RowPage,
} from "./keysetPagination.ts";
import { atOf, type Projection } from "./projection.ts";

const INSERT = `INSERT INTO suppressions
  (workspace_id, recipient_hash, id, reason, created_at, revision) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING`;
const DELETE = "DELETE FROM suppressions WHERE workspace_id = ? AND recipient_hash = ?";

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  const { type, data } = suppressionCodec.decode(event);
  switch (type) {
    case "RecipientSuppressed": {
      const { workspaceId, recipientHash, reason } = data;
      db.run(INSERT, workspaceId, recipientHash, event.id, reason, atOf(event), event.revision);
      break;
    }
    case "RecipientUnsuppressed":
      db.run(DELETE, data.workspaceId, data.recipientHash);
      break;
  }
}

/**
 * Who must not get mail, by workspace. Acceptance looks here; the list shows these rows with addresses added.
 * `id` and `revision` are those of the suppressing event in the recipient's stream.
 */
export const suppressions: Projection<"suppressions"> = {
  name: "suppressions",
  version: 4,
  events: ["RecipientSuppressed", "RecipientUnsuppressed"],
  tables: [
    {
      name: "suppressions",
      columns: `workspace_id TEXT NOT NULL, recipient_hash TEXT NOT NULL, id TEXT NOT NULL, reason TEXT NOT NULL,
        created_at TEXT NOT NULL, revision INTEGER NOT NULL,
        PRIMARY KEY (workspace_id, recipient_hash)`,
      key: ["workspace_id", "recipient_hash"],
      indexes: [
        "CREATE INDEX suppressions_by_time ON suppressions (workspace_id, created_at)",
        "CREATE INDEX suppressions_by_reason ON suppressions (workspace_id, reason, created_at)",
      ],
    },
  ],
  apply,
};

export function isSuppressed(db: ReadDatabase, workspaceId: string, recipientHash: string): boolean {
  const sql = "SELECT 1 AS found FROM suppressions WHERE workspace_id = ? AND recipient_hash = ?";
  return db.get(sql, workspaceId, recipientHash) !== undefined;
}

/** The suppression that an event began, by that event's id and time; null once it has ended. */
export function suppressionOf(
  db: ReadDatabase,
  workspaceId: string,
  { id, createdAt }: Pick<SuppressionRow, "id" | "createdAt">,
): SuppressionRow | null {
  const sql = `SELECT ${ROW} FROM suppressions WHERE workspace_id = ? AND created_at = ? AND id = ?`;
  return firstRow(db, sql, workspaceId, createdAt, id);
}

/** Which suppressions to list. Times are RFC 3339 in UTC. */
export interface SuppressionQuery extends CreatedRange, PageQuery {
  readonly workspaceId: string;
  readonly reason?: string;
}

/** Where to find a suppression. Its details are in the recipient's stream. */
export interface SuppressionRow {
  readonly id: string;
  readonly recipientHash: string;
  readonly createdAt: string;
  readonly revision: number;
}

const ROW = `${CURSOR_COLUMNS}, recipient_hash AS recipientHash, revision`;

/** Suppressions of one workspace, newest first. */
export function listSuppressions(db: ReadDatabase, query: SuppressionQuery): RowPage<SuppressionRow> {
  const { workspaceId: owner, reason } = query;
  return findRows(db, query, {
    ...{ table: "suppressions", of: "workspace_id", owner },
    columns: ROW,
    index: reason === undefined ? "suppressions_by_time" : "suppressions_by_reason",
    along: [...equals("workspace_id", owner), ...equals("reason", reason)],
    wanted: [],
  });
}
