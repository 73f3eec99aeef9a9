import type { Projection } from "../projection.ts";
import { apply, EVENTS } from "./apply.ts";
import { PAUSES_INDEX } from "./pausedWorkspaces.ts";

/**
 * The audit log: who changed keys, senders, templates, endpoints, limits, suppressions and erasures of a workspace, and
 * when. Addresses of senders and suppressions are not in it, but in their own streams.
 */
export const auditLog: Projection<"audit-log"> = {
  name: "audit-log",
  version: 4,
  events: EVENTS,
  tables: [
    {
      name: "audit_log",
      columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, created_at TEXT NOT NULL, action TEXT NOT NULL,
        actor TEXT NOT NULL, actor_name TEXT, actor_person TEXT, target_type TEXT NOT NULL, target_id TEXT NOT NULL,
        target_label TEXT, request_id TEXT NOT NULL, details TEXT NOT NULL, stream TEXT NOT NULL, revision INTEGER NOT NULL`,
      key: ["id"],
      indexes: [
        "CREATE INDEX audit_log_by_time ON audit_log (workspace_id, created_at)",
        "CREATE INDEX audit_log_by_stream ON audit_log (stream, revision)",
        PAUSES_INDEX,
      ],
    },
    {
      // The workspace, the display name and the person of each target, because later events don't repeat them.
      name: "audited",
      columns: `type TEXT NOT NULL, id TEXT NOT NULL, workspace_id TEXT NOT NULL, label TEXT, person TEXT,
        PRIMARY KEY (type, id)`,
      key: ["type", "id"],
    },
  ],
  apply,
};
