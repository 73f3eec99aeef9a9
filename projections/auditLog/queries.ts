import { firstRow, type ReadDatabase, type SqlRow } from "../../src/ports/readDatabase.ts";
import {
  allOf,
  type CreatedRange,
  CURSOR_COLUMNS,
  createdIn,
  equals,
  findRows,
  type KeysetCursor,
  type PageQuery,
  type RowPage,
} from "../keysetPagination.ts";
import type { AuditDetails, AuditTarget } from "./auditActions.ts";
import { isKey, NO_WORKSPACE } from "./auditActors.ts";

/** Which entries to list. */
export interface AuditQuery extends CreatedRange, PageQuery {
  /** Null for entries about the whole installation, such as backups. */
  readonly workspaceId: string | null;
  readonly action?: string;
  /** The id of a key, or one of {@link AUDIT_ACTORS}. */
  readonly actor?: string;
  readonly targetType?: string;
  readonly targetId?: string;
}

interface AuditedActor {
  readonly type: string;
  readonly id: string | null;
  readonly name: string | null;
  /** Who logs in with it, if it is such an API key. */
  readonly person: string | null;
}

/** Who did what to what, and when. */
export interface AuditRow {
  readonly id: string;
  readonly createdAt: string;
  readonly action: string;
  readonly actor: AuditedActor;
  readonly target: { readonly type: AuditTarget; readonly id: string | null; readonly label: string | null };
  readonly requestId: string;
  readonly details: AuditDetails;
}

/** Entries of one workspace, newest first. */
export function listAuditLog(db: ReadDatabase, query: AuditQuery): RowPage<AuditRow> {
  const owner = query.workspaceId ?? NO_WORKSPACE;
  const { rows, next } = findRows<KeysetCursor & SqlRow>(db, query, {
    ...{ table: "audit_log", of: "workspace_id", owner },
    columns: `${CURSOR_COLUMNS}, *`,
    index: "audit_log_by_time",
    along: equals("workspace_id", owner),
    wanted: [
      ...equals("action", query.action),
      ...equals("actor", query.actor),
      ...equals("target_type", query.targetType),
      ...equals("target_id", query.targetId),
    ],
  });
  return { rows: rows.map(auditRow), next };
}

/** How many entries workspaces have that match, how many workspaces, and the only one if it is one. */
export interface WorkspaceEntries {
  readonly entries: number;
  readonly workspaces: number;
  readonly workspaceId: string | null;
}

/** Counts what {@link listAuditLog} would find in all workspaces together. Reads every entry. */
export function countWorkspaceEntries(
  db: ReadDatabase,
  query: CreatedRange & Pick<AuditQuery, "action" | "actor">,
): WorkspaceEntries {
  const { sql, values } = allOf([
    { sql: "workspace_id <> ?", values: [NO_WORKSPACE] },
    ...createdIn(query),
    ...equals("action", query.action),
    ...equals("actor", query.actor),
  ]);
  const found = firstRow<WorkspaceEntries & SqlRow>(
    db,
    `SELECT count(*) AS entries, count(DISTINCT workspace_id) AS workspaces,
       iif(count(DISTINCT workspace_id) = 1, min(workspace_id), NULL) AS workspaceId
     FROM audit_log WHERE ${sql}`,
    ...values,
  );
  return found ?? { entries: 0, workspaces: 0, workspaceId: null };
}

/** A column's text; null if it is empty. */
export function textOf(row: SqlRow, column: string): string | null {
  const value = row[column] ?? null;
  return value === null || value === "" ? null : String(value);
}

function auditRow(row: SqlRow): AuditRow {
  const actor = String(row.actor);
  return {
    id: String(row.id),
    createdAt: String(row.created_at),
    action: String(row.action),
    actor: isKey(actor)
      ? { type: "api_key", id: actor, name: textOf(row, "actor_name"), person: textOf(row, "actor_person") }
      : { type: actor, id: null, name: null, person: null },
    target: {
      type: row.target_type as AuditTarget,
      id: textOf(row, "target_id"),
      label: textOf(row, "target_label"),
    },
    requestId: String(row.request_id),
    details: JSON.parse(String(row.details)) as AuditDetails,
  };
}
