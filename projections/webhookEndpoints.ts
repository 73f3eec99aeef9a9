import { webhookCodec } from "../src/domain/webhook/events.ts";
import type { ProjectedEvent, ReadDatabase, SqlRow, SqlValue } from "../src/ports/readDatabase.ts";
import type { Projection } from "./projection.ts";

const INSERT = `INSERT INTO webhook_endpoints
  (id, workspace_id, url, description, event_types, status, disabled_reason, created_at, updated_at)
  VALUES (?, ?, ?, ?, ?, 'active', NULL, ?, ?)`;
const NOTE_REVISION = `INSERT INTO webhook_streams (workspace_id, revision) VALUES (?, ?)
  ON CONFLICT DO UPDATE SET revision = excluded.revision`;

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  const { data } = webhookCodec.decode(event);
  const { endpointId, workspaceId, url, description, eventTypes } = data;
  const at = event.metadata.at as string;
  const types = eventTypes === null ? null : JSON.stringify(eventTypes);
  db.run(INSERT, endpointId, workspaceId, url, description, types, at, at);
  db.run(NOTE_REVISION, workspaceId, event.revision);
}

/** The webhook endpoints of each workspace, without their secrets. */
export const webhookEndpoints: Projection = {
  name: "webhook-endpoints",
  version: 1,
  events: ["WebhookEndpointRegistered"],
  tables: [
    {
      name: "webhook_endpoints",
      columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, url TEXT NOT NULL, description TEXT,
        event_types TEXT, status TEXT NOT NULL, disabled_reason TEXT, created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL`,
      key: ["id"],
      indexes: ["CREATE INDEX endpoints_by_time ON webhook_endpoints (workspace_id, created_at, id)"],
    },
    {
      name: "webhook_streams",
      columns: "workspace_id TEXT PRIMARY KEY, revision INTEGER NOT NULL",
      key: ["workspace_id"],
    },
  ],
  apply,
};

export interface WebhookEndpointRow {
  readonly id: string;
  readonly url: string;
  readonly description: string | null;
  readonly eventTypes: readonly string[] | null;
  readonly status: "active" | "disabled";
  readonly disabledReason: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

function text(value: SqlValue | undefined): string | null {
  return value === null || value === undefined ? null : String(value);
}

function endpointRow(row: SqlRow): WebhookEndpointRow {
  const types = text(row.event_types);
  return {
    id: String(row.id),
    url: String(row.url),
    description: text(row.description),
    eventTypes: types === null ? null : (JSON.parse(types) as string[]),
    status: row.status === "active" ? "active" : "disabled",
    disabledReason: text(row.disabled_reason),
    createdAt: String(row.created_at),
    updatedAt: String(row.updated_at),
  };
}

/** Endpoints of one workspace, newest first, active and disabled. */
export function listWebhookEndpoints(
  db: ReadDatabase,
  workspaceId: string,
  page: { readonly after?: { readonly createdAt: string; readonly id: string }; readonly limit: number },
): readonly WebhookEndpointRow[] {
  const { createdAt, id } = page.after ?? { createdAt: "~", id: "~" };
  const sql = `SELECT * FROM webhook_endpoints WHERE workspace_id = ? AND (created_at, id) < (?, ?)
    ORDER BY created_at DESC, id DESC LIMIT ?`;
  return db.all(sql, workspaceId, createdAt, id, page.limit).map(endpointRow);
}

/** The last revision of `webhooks-<workspace>` that the rows contain; -1 when they contain none. */
export function webhooksRevision(db: ReadDatabase, workspaceId: string): number {
  const row = db.get("SELECT revision FROM webhook_streams WHERE workspace_id = ?", workspaceId);
  return row === undefined ? -1 : Number(row.revision);
}
