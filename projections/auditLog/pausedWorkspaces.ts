import type { PauseRate } from "../../src/domain/workspace/events.ts";
import { allRows, type ReadDatabase } from "../../src/ports/readDatabase.ts";
import { rateIn } from "./auditActions.ts";

export interface PausedWorkspace {
  readonly id: string;
  /** Its name now. */
  readonly name: string;
  /** RFC 3339. */
  readonly since: string;
  /** Why the service itself has paused it; null if somebody asked for it. */
  readonly rate: PauseRate | null;
}

/** The entries of pauses and of their ends. The query says it as the index does, or SQLite would not use the index. */
const OF_PAUSES = "action IN ('sending.paused', 'sending.resumed')";

export const PAUSES_INDEX = `CREATE INDEX audit_log_of_pauses ON audit_log (workspace_id, revision) WHERE ${OF_PAUSES}`;

/** With `max`, SQLite takes the other columns from the row that has it: the last entry of each workspace. */
const PAUSED = `SELECT last.workspace_id AS id, audited.label AS name, last.created_at AS since,
    last.details AS details
  FROM (SELECT workspace_id, created_at, action, details, max(revision) FROM audit_log WHERE ${OF_PAUSES}
    GROUP BY workspace_id) AS last
  JOIN audited ON audited.type = 'workspace' AND audited.id = last.workspace_id
  WHERE last.action = 'sending.paused' ORDER BY since, last.workspace_id LIMIT ? + 0`;

/** The workspaces whose sending is paused, the longest pause first, at most `max`. */
export function pausedWorkspaces(auditLog: ReadDatabase, max: number): readonly PausedWorkspace[] {
  const rows = allRows<Omit<PausedWorkspace, "rate"> & { readonly details: string }>(auditLog, PAUSED, max);
  return rows.map(({ details, ...row }) => ({ ...row, rate: rateIn(JSON.parse(details)) }));
}
