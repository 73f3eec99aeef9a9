import { type WebhookEvent, webhookCodec } from "../src/domain/webhook/events.ts";
import { never } from "../src/kernel/assert.ts";
import type { ProjectedEvent, ReadDatabase, SqlRow, SqlValue } from "../src/ports/readDatabase.ts";
import { newestRows, type PageQuery } from "./keysetPagination.ts";
import type { Projection } from "./projection.ts";

const INSERT = `INSERT INTO webhook_endpoints
  (id, workspace_id, url, description, event_types, status, disabled_reason, created_at, updated_at)
  VALUES (?, ?, ?, ?, ?, 'active', NULL, ?, ?)`;
const STATUS = "UPDATE webhook_endpoints SET status = ?, disabled_reason = ?, updated_at = ? WHERE id = ?";
const NOTE_REVISION = `INSERT INTO webhook_streams (workspace_id, revision) VALUES (?, ?)
  ON CONFLICT DO UPDATE SET revision = excluded.revision`;

function typesText(types: readonly string[] | null): string | null {
  return types === null ? null : JSON.stringify(types);
}

function update(data: Extract<WebhookEvent, { type: "WebhookEndpointUpdated" }>["data"], db: ReadDatabase) {
  const { endpointId, url, description, eventTypes } = data;
  if (url !== undefined) db.run("UPDATE webhook_endpoints SET url = ? WHERE id = ?", url, endpointId);
  if (description !== undefined)
    db.run("UPDATE webhook_endpoints SET description = ? WHERE id = ?", description, endpointId);
  if (eventTypes !== undefined)
    db.run("UPDATE webhook_endpoints SET event_types = ? WHERE id = ?", typesText(eventTypes), endpointId);
}

function applyTo(db: ReadDatabase, event: WebhookEvent, at: string): void {
  const { type, data } = event;
  const touch = () => db.run("UPDATE webhook_endpoints SET updated_at = ? WHERE id = ?", at, data.endpointId);
  switch (type) {
    case "WebhookEndpointRegistered": {
      const { endpointId, workspaceId, url, description, eventTypes } = data;
      db.run(INSERT, endpointId, workspaceId, url, description, typesText(eventTypes), at, at);
      break;
    }
    case "WebhookEndpointUpdated":
      update(data, db);
      touch();
      break;
    case "WebhookEndpointDisabled":
      db.run(STATUS, "disabled", data.reason, at, data.endpointId);
      break;
    case "WebhookEndpointEnabled":
      db.run(STATUS, "active", null, at, data.endpointId);
      break;
    case "WebhookEndpointSecretRotated":
      touch();
      break;
    case "WebhookEndpointDeleted":
      db.run("DELETE FROM webhook_endpoints WHERE id = ?", data.endpointId);
      break;
    case "WebhookTestRequested":
      break;
    default:
      never(event);
  }
}

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  applyTo(db, webhookCodec.decode(event), event.metadata.at as string);
  db.run(NOTE_REVISION, event.stream.slice("webhooks-".length), event.revision);
}

/** The webhook endpoints of each workspace, without their secrets. */
export const webhookEndpoints: Projection = {
  name: "webhook-endpoints",
  version: 3,
  events: webhookCodec.types,
  tables: [
    {
      name: "webhook_endpoints",
      columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, url TEXT NOT NULL, description TEXT,
        event_types TEXT, status TEXT NOT NULL, disabled_reason TEXT, created_at TEXT NOT NULL,
        updated_at TEXT NOT NULL`,
      key: ["id"],
      indexes: ["CREATE INDEX endpoints_by_time ON webhook_endpoints (workspace_id, created_at)"],
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
  owner: string,
  page: PageQuery,
): readonly WebhookEndpointRow[] {
  const list = { table: "webhook_endpoints", of: "workspace_id", owner, columns: "*" };
  return newestRows(db, list, page).map(endpointRow);
}

/** One endpoint of the workspace; null if it has none with this id. */
export function webhookEndpoint(
  db: ReadDatabase,
  workspaceId: string,
  id: string,
): WebhookEndpointRow | null {
  const row = db.get("SELECT * FROM webhook_endpoints WHERE workspace_id = ? AND id = ?", workspaceId, id);
  return row === undefined ? null : endpointRow(row);
}

/** The last revision of `webhooks-<workspace>` that the rows contain; -1 when they contain none. */
export function webhooksRevision(db: ReadDatabase, workspaceId: string): number {
  const row = db.get("SELECT revision FROM webhook_streams WHERE workspace_id = ?", workspaceId);
  return row === undefined ? -1 : Number(row.revision);
}
