import { type EpochMs, epochMs } from "../src/kernel/time.ts";
import { firstRow, type ReadDatabase } from "../src/ports/readDatabase.ts";

/** Lists that know when each of their rows was created, by workspace. */
export type CreationTable = "emails" | "audit_log";

/** The latest time of creation in a list; null if it is empty. Steps from one workspace to the next by the index. */
export function newestCreationTime(db: ReadDatabase, table: CreationTable): EpochMs | null {
  const sql = `WITH RECURSIVE owner (id) AS (
      SELECT min(workspace_id) FROM ${table}
      UNION ALL
      SELECT (SELECT min(workspace_id) FROM ${table} WHERE workspace_id > owner.id) FROM owner WHERE owner.id IS NOT NULL)
    SELECT max((SELECT max(created_at) FROM ${table} WHERE workspace_id = owner.id)) AS at
      FROM owner WHERE owner.id IS NOT NULL`;
  const at = firstRow<{ readonly at: string | null }>(db, sql)?.at ?? null;
  return at === null ? null : epochMs(at);
}
