import { erasureCodec } from "../src/domain/erasure/events.ts";
import { type EpochMs, epochMs, rfc3339 } from "../src/kernel/time.ts";
import { allRows, firstRow, type ProjectedEvent, type ReadDatabase } from "../src/ports/readDatabase.ts";
import type { WorkRow } from "./attachments.ts";
import { type KeysetCursor, newestOfWorkspace, type WorkspacePageQuery } from "./keysetPagination.ts";
import { atOf, idOf, type Projection } from "./projection.ts";

const INSERT = "INSERT INTO erasures (id, workspace_id, status, created_at) VALUES (?, ?, 'requested', ?)";
const MOVE = "UPDATE erasures SET status = ? WHERE id = ?";

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  const id = idOf(event);
  const { type, data } = erasureCodec.decode(event);
  switch (type) {
    case "ErasureRequested":
      db.run(INSERT, id, data.workspaceId, atOf(event));
      break;
    case "ErasureApplied":
      db.run(MOVE, "applied", id);
      break;
    case "ErasureCompleted":
      db.run(MOVE, "completed", id);
      break;
  }
}

/** Requests to erase a person: what the list shows, and the work left to do. Nothing in it names the person. */
export const erasures: Projection<"erasures"> = {
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
        "CREATE INDEX erasures_open_of ON erasures (workspace_id, status, created_at) WHERE status <> 'completed'",
      ],
    },
  ],
  apply,
};

/** How many requests of each status one query returns for a workspace, so that other workspaces get their turn. */
const OF_WORKSPACE_MAX = 8;
/** How many workspaces one call visits; the next call continues after them. */
const WORKSPACES_VISITED_MAX = 100;

/**
 * Requests that are not completed, except those with the given ids: the oldest of each workspace. Starts with the first
 * workspace id after `after` and wraps around. Within a workspace, requests not yet applied come first.
 */
export function openErasures(
  db: ReadDatabase,
  after: string,
  without: readonly string[],
  limit: number,
): readonly WorkRow[] {
  const ids = JSON.stringify(without);
  const rows: WorkRow[] = [];
  let [workspaceId, hasWrapped] = [after, after === ""];
  for (let visited = 0; visited < WORKSPACES_VISITED_MAX && rows.length < limit; visited += 1) {
    const next = nextWorkspace(db, workspaceId);
    if (next === null && hasWrapped) break;
    if (next === null) hasWrapped = true;
    workspaceId = next ?? "";
    if (next !== null) rows.push(...openErasuresOf(db, next, ids));
    if (hasWrapped && after !== "" && workspaceId >= after) break;
  }
  return rows.slice(0, limit);
}

function nextWorkspace(db: ReadDatabase, after: string): string | null {
  const sql = `SELECT workspace_id AS workspaceId FROM erasures INDEXED BY erasures_open_of
    WHERE status <> 'completed' AND workspace_id > ? ORDER BY workspace_id LIMIT 1`;
  return firstRow<Pick<WorkRow, "workspaceId">>(db, sql, after)?.workspaceId ?? null;
}

function openErasuresOf(db: ReadDatabase, workspaceId: string, without: string): readonly WorkRow[] {
  const sql = `SELECT id FROM erasures INDEXED BY erasures_open_of WHERE status <> 'completed' AND workspace_id = ?
    AND status = ? AND id NOT IN (SELECT value FROM json_each(?)) ORDER BY created_at LIMIT ${OF_WORKSPACE_MAX}`;
  return ["requested", "applied"].flatMap((status) =>
    db.all(sql, workspaceId, status, without).map(({ id }) => ({ id: String(id), workspaceId })),
  );
}

/** A request that is not completed. */
interface OpenErasure extends WorkRow {
  /** RFC 3339. */
  readonly createdAt: string;
}

/** Requests of all workspaces that were made before a time and are not completed, the oldest first. */
export function overdueErasures(db: ReadDatabase, before: EpochMs, max: number): readonly OpenErasure[] {
  const sql = `SELECT id, workspace_id AS workspaceId, created_at AS createdAt
    FROM erasures INDEXED BY erasures_open WHERE status <> 'completed' AND status = ? AND created_at < ?
    ORDER BY created_at LIMIT ? + 0`;
  const found = ["requested", "applied"].flatMap((status) =>
    allRows<OpenErasure>(db, sql, status, rfc3339(before), max),
  );
  return found.sort((one, other) => epochMs(one.createdAt) - epochMs(other.createdAt)).slice(0, max);
}

/** Whether other requests are still waiting to be applied. */
export function areOthersWaiting(db: ReadDatabase, id: string): boolean {
  const sql =
    "SELECT 1 AS found FROM erasures WHERE status <> 'completed' AND status = 'requested' AND id <> ? LIMIT 1";
  return db.get(sql, id) !== undefined;
}

/** Requests of one workspace, newest first. */
export function listErasures(db: ReadDatabase, query: WorkspacePageQuery): readonly KeysetCursor[] {
  return newestOfWorkspace(db, { table: "erasures" }, query);
}
