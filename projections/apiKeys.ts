import { apiKeyCodec } from "../src/domain/apiKey/events.ts";
import { apiKeyUseCodec } from "../src/domain/apiKeyUse/events.ts";
import { type EpochMs, rfc3339 } from "../src/kernel/time.ts";
import {
  allRows,
  firstRow,
  type ProjectedEvent,
  type ReadDatabase,
  type SqlValue,
} from "../src/ports/readDatabase.ts";
import {
  CURSOR_COLUMNS,
  NEWEST_FIRST,
  newestOfWorkspace,
  type WorkspacePageQuery,
} from "./keysetPagination.ts";
import { atOf, idOf, type Projection } from "./projection.ts";
import { listIn, listText } from "./sqlListsAndInserts.ts";

const INSERT = `INSERT INTO api_keys (id, workspace_id, name, scopes, expires_at, issuer_id, rotated_from, senders,
  client_ranges, is_test, person, revoked, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)`;
const RENAME = "UPDATE api_keys SET name = ? WHERE id = ?";
const ROTATE = "UPDATE api_keys SET expires_at = ? WHERE id = ?";
const USED = "UPDATE api_keys SET last_used_at = ? WHERE id = ?";
const REVOKE = "UPDATE api_keys SET revoked = 1 WHERE id = ?";

function apply(event: ProjectedEvent, db: ReadDatabase): void {
  if (event.type === "ApiKeyUsed") {
    const { keyId, hour } = apiKeyUseCodec.decode(event).data;
    db.run(USED, hour, keyId);
    return;
  }
  const id = idOf(event);
  const { type, data } = apiKeyCodec.decode(event);
  switch (type) {
    case "ApiKeyIssued": {
      const { workspaceId, name, scopes, expiresAt = null, issuerId = null, rotatedFrom = null } = data;
      const bound = [listText(data.senders), listText(data.clientRanges)] as const;
      const made = [JSON.stringify(scopes), expiresAt, issuerId, rotatedFrom, ...bound] as const;
      db.run(INSERT, id, workspaceId, name, ...made, data.test ? 1 : 0, data.person ?? null, atOf(event));
      break;
    }
    case "ApiKeyRenamed":
      db.run(RENAME, data.name, id);
      break;
    case "ApiKeyRotated":
      db.run(ROTATE, data.expiresAt, id);
      break;
    case "ApiKeyRevoked":
      db.run(REVOKE, id);
      break;
  }
}

/** The API keys of every workspace, without secrets. Not used to authenticate: that reads keys from the log. */
export const apiKeys: Projection<"api-keys"> = {
  name: "api-keys",
  version: 5,
  events: [...apiKeyCodec.types, ...apiKeyUseCodec.types],
  tables: [
    {
      name: "api_keys",
      columns: `id TEXT PRIMARY KEY, workspace_id TEXT NOT NULL, name TEXT NOT NULL, scopes TEXT NOT NULL,
        expires_at TEXT, issuer_id TEXT, rotated_from TEXT, senders TEXT, client_ranges TEXT, last_used_at TEXT,
        is_test INTEGER NOT NULL, person TEXT, revoked INTEGER NOT NULL, created_at TEXT NOT NULL`,
      key: ["id"],
      indexes: [
        "CREATE INDEX api_keys_by_time ON api_keys (workspace_id, created_at)",
        "CREATE INDEX api_keys_by_issuer ON api_keys (issuer_id) WHERE issuer_id IS NOT NULL",
        "CREATE INDEX api_keys_by_origin ON api_keys (rotated_from) WHERE rotated_from IS NOT NULL",
        "CREATE INDEX api_keys_not_revoked ON api_keys (workspace_id, expires_at) WHERE revoked = 0",
        "CREATE INDEX api_keys_by_expiry ON api_keys (expires_at) WHERE revoked = 0 AND expires_at IS NOT NULL",
        "CREATE INDEX api_keys_by_person ON api_keys (person) WHERE person IS NOT NULL",
      ],
    },
  ],
  apply,
};

export interface ApiKeyRow {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  /** RFC 3339; null if it does not expire. */
  readonly expiresAt: string | null;
  readonly revoked: boolean;
  readonly createdAt: string;
  /** The key that issued it, and the one it replaced. */
  readonly issuerId: string | null;
  readonly rotatedFrom: string | null;
  /** The senders and client addresses that it is restricted to; null if it is not. */
  readonly senders: readonly string[] | null;
  readonly clientRanges: readonly string[] | null;
  /** RFC 3339, the start of an hour; null if the log has no use of it. */
  readonly lastUsedAt: string | null;
  /** Whether it is a test key, whose mail never leaves the service. */
  readonly isTest: boolean;
  /** Who logs in with it, in lower case; null: whoever has its secret. */
  readonly person: string | null;
}

const COLUMNS = `${CURSOR_COLUMNS}, name, scopes, expires_at AS expiresAt, revoked, issuer_id AS issuerId,
  rotated_from AS rotatedFrom, senders, client_ranges AS clientRanges, last_used_at AS lastUsedAt, is_test AS isTest, person`;

type ReadByUs = "scopes" | "senders" | "clientRanges" | "revoked" | "isTest";
/** A row as stored, with lists as JSON, and 1 for true. */
type StoredKey = Omit<ApiKeyRow, ReadByUs> & Readonly<Record<ReadByUs, SqlValue>>;

/** A key's row; null when there is none yet. */
export function apiKeyOf(db: ReadDatabase, id: string): ApiKeyRow | null {
  const row = firstRow<StoredKey>(db, `SELECT ${COLUMNS} FROM api_keys WHERE id = ?`, id);
  return row && apiKeyRow(row);
}

/** The unrevoked keys that a key has issued or was rotated to, and those that these have, and so on. */
export function apiKeyDescendants(db: ReadDatabase, id: string): readonly string[] {
  const sql = `WITH RECURSIVE below (id) AS (
      SELECT ?
      UNION SELECT api_keys.id FROM api_keys JOIN below ON api_keys.issuer_id = below.id
      UNION SELECT api_keys.id FROM api_keys JOIN below ON api_keys.rotated_from = below.id
    ) SELECT api_keys.id FROM below JOIN api_keys USING (id) WHERE api_keys.revoked = 0 AND api_keys.id <> ?`;
  return db.all(sql, id, id).map((row) => String(row.id));
}

/** Keys of one workspace, newest first, including expired and revoked ones. */
export function listApiKeys(db: ReadDatabase, query: WorkspacePageQuery): readonly ApiKeyRow[] {
  return newestOfWorkspace<StoredKey>(db, { table: "api_keys", columns: COLUMNS }, query).map(apiKeyRow);
}

/** How many keys of the workspace are neither revoked nor expired at `now` (RFC 3339). */
export function countActiveApiKeys(db: ReadDatabase, workspaceId: string, now: string): number {
  const sql = `SELECT count(*) AS keys FROM api_keys
    WHERE workspace_id = ? AND revoked = 0 AND (expires_at IS NULL OR expires_at > ?)`;
  return Number(db.get(sql, workspaceId, now)?.keys ?? 0);
}

interface PersonQuery {
  /** In lower case. */
  readonly person: string;
  /** RFC 3339. */
  readonly now: string;
  /** The most keys of one workspace, so that none can crowd out the others'. */
  readonly ofWorkspaceMax: number;
  readonly max: number;
}

/** The ids of a person's keys, in all workspaces, that are neither revoked nor expired; newest first. */
export function keyIdsOfPerson(db: ReadDatabase, query: PersonQuery): readonly string[] {
  const { person, now, ofWorkspaceMax, max } = query;
  const sql = `SELECT id FROM (
      SELECT id, created_at, rowid AS number, row_number() OVER (PARTITION BY workspace_id ${NEWEST_FIRST}) AS nth
      FROM api_keys WHERE person = ? AND revoked = 0 AND (expires_at IS NULL OR expires_at > ?)
    ) WHERE nth <= ? ORDER BY created_at DESC, number DESC LIMIT ? + 0`;
  return db.all(sql, person, now, ofWorkspaceMax, max).map((row) => String(row.id));
}

/** A key that is in use, and expires soon or did lately. */
export interface ExpiringKey {
  readonly id: string;
  readonly workspaceId: string;
  readonly name: string;
  /** RFC 3339. */
  readonly expiresAt: string;
}

/** What counts as in use, as soon and as lately, in ms. */
interface ExpiryRule {
  readonly usedMs: number;
  readonly aheadMs: number;
  readonly pastMs: number;
  /** Leaves out the operator's keys of this name. */
  readonly exceptNamed: string;
}

interface ExpiryQuery {
  readonly now: EpochMs;
  readonly rule: ExpiryRule;
  /** Null: of every workspace. */
  readonly workspaceId: string | null;
  readonly max: number;
}

/**
 * Keys that are in use and expire soon, or did lately; the earliest expiry first. Not those that were revoked, nor
 * those that a rotation has ended: these were to end.
 */
export function expiringApiKeys(db: ReadDatabase, query: ExpiryQuery): readonly ExpiringKey[] {
  const { now, rule, workspaceId, max } = query;
  const ofWorkspace = workspaceId === null ? "" : "AND workspace_id = ?";
  const sql = `SELECT id, workspace_id AS workspaceId, name, expires_at AS expiresAt FROM api_keys
    WHERE revoked = 0 AND expires_at BETWEEN ? AND ? AND last_used_at >= ? ${ofWorkspace}
      AND NOT (issuer_id IS NULL AND name = ?)
      AND (expires_at > ? OR NOT EXISTS (SELECT 1 FROM api_keys AS newer WHERE newer.rotated_from = api_keys.id))
    ORDER BY expires_at, id LIMIT ? + 0`;
  const range = [rfc3339(now - rule.pastMs), rfc3339(now + rule.aheadMs), rfc3339(now - rule.usedMs)];
  const owner = workspaceId === null ? [] : [workspaceId];
  return allRows<ExpiringKey>(db, sql, ...range, ...owner, rule.exceptNamed, rfc3339(now), max);
}

function apiKeyRow(row: StoredKey): ApiKeyRow {
  return {
    ...row,
    scopes: listIn(row.scopes) ?? [],
    revoked: row.revoked === 1,
    senders: listIn(row.senders),
    clientRanges: listIn(row.clientRanges),
    isTest: row.isTest === 1,
  };
}
