import { apiKeyCodec } from "../src/domain/apiKey/events.ts";
import type { ProjectedEvent, ReadDatabase, SqlRow } from "../src/ports/readDatabase.ts";
import { type ListPlace, NEWEST_FIRST, olderThan } from "./listOrder.ts";
import type { Projection } from "./projection.ts";

const INSERT = `INSERT INTO api_keys (id, workspace_id, name, scopes, expires_at, revoked, created_at)
  VALUES (?, ?, ?, ?, ?, 0, ?)`;
const REVOKE = "UPDATE api_keys SET revoked = 1 WHERE id = ?";

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  const id = event.stream.slice("apikey-".length);
  const { type, data } = apiKeyCodec.decode(event);
  switch (type) {
    case "ApiKeyIssued": {
      const { workspaceId, name, scopes, expiresAt = null } = data;
      const at = event.metadata.at as string;
      db.run(INSERT, id, workspaceId, name, JSON.stringify(scopes), expiresAt, at);
      break;
    }
    case "ApiKeyRevoked":
      db.run(REVOKE, id);
      break;
  }
}

/** The keys of every workspace, without anything that opens one. Nobody is let in by it: keys are read from the log. */
export const apiKeys: Projection = {
  name: "api-keys",
  version: 2,
  events: apiKeyCodec.types,
  tables: [
    {
      name: "api_keys",
      columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, name TEXT NOT NULL, scopes TEXT NOT NULL,
        expires_at TEXT, revoked INTEGER NOT NULL, created_at TEXT NOT NULL`,
      key: ["id"],
      indexes: [
        "CREATE INDEX api_keys_by_time ON api_keys (workspace_id, created_at)",
        "CREATE INDEX api_keys_not_revoked ON api_keys (workspace_id, expires_at) WHERE revoked = 0",
      ],
    },
  ],
  apply,
};

export interface ApiKeyRow {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  /** RFC 3339; null: it does not expire. */
  readonly expiresAt: string | null;
  readonly revoked: boolean;
  readonly createdAt: string;
}

interface ApiKeyQuery {
  readonly workspaceId: string;
  /** The last row of the page before. */
  readonly after?: ListPlace;
  readonly limit: number;
}

/** Keys of one workspace, newest first, expired and revoked ones as well. */
export function listApiKeys(
  db: ReadDatabase,
  { workspaceId, after, limit }: ApiKeyQuery,
): readonly ApiKeyRow[] {
  const page = after && olderThan({ table: "api_keys", of: "workspace_id", owner: workspaceId }, after);
  const sql = `SELECT id, name, scopes, expires_at, revoked, created_at FROM api_keys
    WHERE workspace_id = ? ${page ? `AND ${page.sql}` : ""} ${NEWEST_FIRST} LIMIT ?`;
  return db.all(sql, workspaceId, ...(page?.values ?? []), limit).map(apiKeyRow);
}

/** How many keys of the workspace open something at `now` (RFC 3339). */
export function activeApiKeys(db: ReadDatabase, workspaceId: string, now: string): number {
  const sql = `SELECT count(*) AS keys FROM api_keys
    WHERE workspace_id = ? AND revoked = 0 AND (expires_at IS NULL OR expires_at > ?)`;
  return Number(db.get(sql, workspaceId, now)?.keys ?? 0);
}

function apiKeyRow(row: SqlRow): ApiKeyRow {
  return {
    id: String(row.id),
    name: String(row.name),
    scopes: JSON.parse(String(row.scopes)) as string[],
    expiresAt: row.expires_at === null ? null : String(row.expires_at),
    revoked: row.revoked === 1,
    createdAt: String(row.created_at),
  };
}
