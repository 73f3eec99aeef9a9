import type { ProjectionTable } from "../projection.ts";
import { sqlList } from "../sqlListsAndInserts.ts";

/** The statuses of deliveries that failed for good. Few do, so a partial index finds them. */
export const FAILED_STATUSES: readonly string[] = ["exhausted", "skipped"];
export const IS_FAILED = `status IN ${sqlList(FAILED_STATUSES)}`;

/** SQL: the endpoint was disabled at the time of the event, and nobody has requested delivery since. */
export const IS_MISSED = "status = 'skipped' AND events = 0";

export const TABLES: readonly ProjectionTable[] = [
  {
    name: "endpoints",
    columns: "id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, event_types TEXT, active INTEGER NOT NULL",
    key: ["id"],
    indexes: ["CREATE INDEX endpoints_of ON endpoints (workspace_id, active)"],
  },
  {
    name: "deliveries",
    columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, endpoint_id TEXT NOT NULL, event_id TEXT NOT NULL,
        event_type TEXT NOT NULL, event_stream TEXT NOT NULL, event_revision INTEGER NOT NULL,
        created_at TEXT NOT NULL, status TEXT NOT NULL, state TEXT NOT NULL, due_at INTEGER NOT NULL,
        attempts INTEGER NOT NULL, events INTEGER NOT NULL, lease_ms INTEGER NOT NULL, claimed_by TEXT, updated_at TEXT NOT NULL,
        held INTEGER NOT NULL`,
    key: ["id"],
    indexes: [
      "CREATE INDEX deliveries_ready ON deliveries (endpoint_id, due_at) WHERE state = 'ready'",
      "CREATE INDEX deliveries_leased ON deliveries (id) WHERE state = 'leased'",
      "CREATE INDEX deliveries_held ON deliveries (held) WHERE held = 1",
      `CREATE INDEX deliveries_missed ON deliveries (endpoint_id, created_at) WHERE ${IS_MISSED}`,
      "CREATE INDEX deliveries_by_time ON deliveries (endpoint_id, created_at)",
      `CREATE INDEX deliveries_failed ON deliveries (endpoint_id, created_at) WHERE ${IS_FAILED}`,
    ],
  },
  {
    // When an endpoint's first ready delivery is due; null while none is ready. However long its queue, an endpoint is
    // one row for a worker that looks for work.
    name: "backlogs",
    columns: "endpoint_id TEXT PRIMARY KEY, due_at INTEGER",
    key: ["endpoint_id"],
    indexes: ["CREATE INDEX backlogs_due ON backlogs (due_at) WHERE due_at IS NOT NULL"],
  },
  {
    name: "failing",
    columns: `endpoint_id TEXT PRIMARY KEY, since TEXT NOT NULL, failures INTEGER NOT NULL,
        event_id TEXT NOT NULL, events INTEGER NOT NULL`,
    key: ["endpoint_id"],
  },
];
