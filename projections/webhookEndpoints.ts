import { type WebhookEvent, webhookCodec } from "../src/domain/webhook/events.ts";
import { never } from "../src/kernel/assert.ts";
import {
  firstRow,
  type ProjectedEvent,
  type ReadDatabase,
  type SqlValue,
} from "../src/ports/readDatabase.ts";
import { CURSOR_COLUMNS, newestRows, type PageQuery } from "./keysetPagination.ts";
import { atOf, type Projection } from "./projection.ts";
import { listIn, listText } from "./sqlListsAndInserts.ts";

const INSERT = `INSERT INTO webhook_endpoints
  (id, workspace_id, url, description, event_types, include, status, disabled_reason, created_at, updated_at)
  VALUES (?, ?, ?, ?, ?, ?, 'active', NULL, ?, ?)`;
const STATUS = "UPDATE webhook_endpoints SET status = ?, disabled_reason = ?, updated_at = ? WHERE id = ?";

function update(data: Extract<WebhookEvent, { type: "WebhookEndpointUpdated" }>["data"], db: ReadDatabase) {
  const { endpointId, url, description, eventTypes, include } = data;
  if (url !== undefined) db.run("UPDATE webhook_endpoints SET url = ? WHERE id = ?", url, endpointId);
  if (description !== undefined)
    db.run("UPDATE webhook_endpoints SET description = ? WHERE id = ?", description, endpointId);
  if (eventTypes !== undefined)
    db.run("UPDATE webhook_endpoints SET event_types = ? WHERE id = ?", listText(eventTypes), endpointId);
  if (include !== undefined)
    db.run("UPDATE webhook_endpoints SET include = ? WHERE id = ?", listText(include), endpointId);
}

function apply(projected: ProjectedEvent, db: ReadDatabase): void {
  const at = atOf(projected);
  const event = webhookCodec.decode(projected);
  const { type, data } = event;
  const touch = () => db.run("UPDATE webhook_endpoints SET updated_at = ? WHERE id = ?", at, data.endpointId);
  switch (type) {
    case "WebhookEndpointRegistered": {
      const { endpointId, workspaceId, url, description, eventTypes, include = [] } = data;
      const lists = [listText(eventTypes), listText(include)];
      db.run(INSERT, endpointId, workspaceId, url, description, ...lists, at, at);
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

/** The webhook endpoints of each workspace, without their secrets. */
export const webhookEndpoints: Projection<"webhook-endpoints"> = {
  name: "webhook-endpoints",
  version: 5,
  events: webhookCodec.types,
  tables: [
    {
      name: "webhook_endpoints",
      columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, url TEXT NOT NULL, description TEXT,
        event_types TEXT, include TEXT NOT NULL, status TEXT NOT NULL, disabled_reason TEXT,
        created_at TEXT NOT NULL, updated_at TEXT NOT NULL`,
      key: ["id"],
      indexes: ["CREATE INDEX endpoints_by_time ON webhook_endpoints (workspace_id, created_at)"],
    },
  ],
  apply,
};

export interface WebhookEndpointRow {
  readonly id: string;
  readonly url: string;
  readonly description: string | null;
  readonly eventTypes: readonly string[] | null;
  /** Which of `INCLUDABLE_MEMBERS` it is sent. */
  readonly include: readonly string[];
  readonly status: "active" | "disabled";
  readonly disabledReason: string | null;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** A row as stored, with its lists as JSON. */
type StoredEndpoint = Omit<WebhookEndpointRow, "eventTypes" | "include"> & {
  readonly eventTypes: SqlValue;
  readonly include: SqlValue;
};

const COLUMNS = `${CURSOR_COLUMNS}, url, description, event_types AS eventTypes, include, status,
  disabled_reason AS disabledReason, updated_at AS updatedAt`;

function endpointRow(row: StoredEndpoint): WebhookEndpointRow {
  return { ...row, eventTypes: listIn(row.eventTypes), include: listIn(row.include) ?? [] };
}

/** Endpoints of one workspace, newest first, active and disabled. */
export function listWebhookEndpoints(
  db: ReadDatabase,
  owner: string,
  page: PageQuery,
): readonly WebhookEndpointRow[] {
  const list = { table: "webhook_endpoints", of: "workspace_id", owner, columns: COLUMNS };
  return newestRows<StoredEndpoint>(db, list, page).map(endpointRow);
}

/** One endpoint of the workspace; null if it has none with this id. */
export function webhookEndpoint(
  db: ReadDatabase,
  workspaceId: string,
  id: string,
): WebhookEndpointRow | null {
  const sql = `SELECT ${COLUMNS} FROM webhook_endpoints WHERE workspace_id = ? AND id = ?`;
  const row = firstRow<StoredEndpoint>(db, sql, workspaceId, id);
  return row && endpointRow(row);
}
