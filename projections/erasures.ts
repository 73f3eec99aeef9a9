import { erasureCodec, erasureId } from "../src/domain/erasure/events.ts";
import type { ProjectedEvent, ReadDatabase, SqlRow } from "../src/ports/readDatabase.ts";
import type { WorkRow } from "./attachments.ts";
import { type ListPlace, NEWEST_FIRST, olderThan } from "./keysetList.ts";
import type { Projection } from "./projection.ts";

const INSERT = "INSERT INTO erasures (id, workspace_id, status, created_at) VALUES (?, ?, 'requested', ?)";
const MOVE = "UPDATE erasures SET status = ? WHERE id = ?";

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  const id = erasureId(event.stream);
  const { type, data } = erasureCodec.decode(event);
  switch (type) {
    case "ErasureRequested":
      db.run(INSERT, id, data.workspaceId, event.metadata.at as string);
      break;
    case "ErasureApplied":
      db.run(MOVE, "applied", id);
      break;
    case "ErasureCompleted":
      db.run(MOVE, "completed", id);
      break;
  }
}

/** Requests to erase a person: what the list goes by, and what is left to do. Nothing in it tells who. */
export const erasures: Projection = {
  name: "erasures",
  version: 2,
  events: erasureCodec.types,
  tables: [
    {
      name: "erasures",
      columns:
        "id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, status TEXT NOT NULL, created_at TEXT NOT NULL",
      key: ["id"],
      indexes: [
        "CREATE INDEX erasures_by_time ON erasures (workspace_id, created_at)",
        "CREATE INDEX erasures_open ON erasures (status, created_at) WHERE status <> 'completed'",
      ],
    },
  ],
  apply,
};

/** Requests that are not completed, those first that are yet to be applied, less those of the given ids. */
export function openErasures(
  db: ReadDatabase,
  without: readonly string[],
  limit: number,
): readonly WorkRow[] {
  const sql = `SELECT id, workspace_id FROM erasures WHERE status <> 'completed'
    AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY status DESC, created_at LIMIT ?`;
  return db
    .all(sql, JSON.stringify(without), limit)
    .map((row) => ({ id: String(row.id), workspaceId: String(row.workspace_id) }));
}

/** Whether there are requests beside this one that nothing was done for yet. */
export function areOthersWaiting(db: ReadDatabase, id: string): boolean {
  const sql = "SELECT 1 AS found FROM erasures WHERE status = 'requested' AND id <> ? LIMIT 1";
  return db.get(sql, id) !== undefined;
}

/** Which requests to list. */
export interface ErasureQuery {
  readonly workspaceId: string;
  /** The last row of the page before. */
  readonly after?: ListPlace;
  readonly limit: number;
}

/** Where a request stands in a list. */
export interface ErasureRow {
  readonly id: string;
  readonly createdAt: string;
}

/** Requests of one workspace, newest first. */
export function listErasures(
  db: ReadDatabase,
  { workspaceId, after, limit }: ErasureQuery,
): readonly ErasureRow[] {
  const page = after && olderThan({ table: "erasures", of: "workspace_id", owner: workspaceId }, after);
  const sql = `SELECT id, created_at FROM erasures WHERE workspace_id = ? ${page ? `AND ${page.sql}` : ""}
    ${NEWEST_FIRST} LIMIT ?`;
  return db.all(sql, workspaceId, ...(page?.values ?? []), limit).map(erasureRow);
}

function erasureRow(row: SqlRow): ErasureRow {
  return { id: String(row.id), createdAt: String(row.created_at) };
}
