import { timingSafeEqual } from "node:crypto";
import { SQL } from "bun";
import { Elysia, t } from "elysia";

/** What the program is told, as JSON in its one argument. */
export interface OutboxOptions {
  readonly databaseUrl: string;
  readonly apiKey: string;
}

/** Connections to the database: with fewer, requests wait for one another; with more, none comes sooner. */
const POOL_CONNECTIONS = 16;
/** How long a key is believed before the database is asked again: as long as in the service. */
const KEY_AGE_MS_MAX = 900;

const Mail = t.Object(
  {
    from: t.String({ maxLength: 320 }),
    to: t.String({ maxLength: 320 }),
    subject: t.String({ minLength: 1, maxLength: 998 }),
    html: t.Optional(t.String({ maxLength: 1_000_000 })),
    text: t.Optional(t.String({ maxLength: 1_000_000 })),
  },
  { additionalProperties: false },
);

function hashOf(key: string): string {
  return new Bun.CryptoHasher("sha256", "pepper").update(key).digest("hex");
}

async function makeTables(sql: SQL, apiKey: string): Promise<void> {
  await sql`CREATE TABLE api_keys (hash text PRIMARY KEY, workspace_id uuid NOT NULL)`;
  await sql`CREATE TABLE outbox (
    id uuid PRIMARY KEY,
    workspace_id uuid NOT NULL,
    idempotency_key text NOT NULL,
    sender text NOT NULL,
    recipient text NOT NULL,
    subject text NOT NULL,
    html text,
    body text,
    status text NOT NULL DEFAULT 'queued',
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (workspace_id, idempotency_key))`;
  await sql`INSERT INTO api_keys VALUES (${hashOf(apiKey)}, ${crypto.randomUUID()})`;
}

/** The workspace of an Authorization header; null for nobody's key. */
function keyCheck(sql: SQL): (authorization: string | undefined) => Promise<string | null> {
  const known = new Map<string, { readonly workspaceId: string; readonly expiresAt: number }>();
  return async (authorization) => {
    const hash = hashOf(/^Bearer (\S+)$/.exec(authorization ?? "")?.[1] ?? "");
    const cached = known.get(hash);
    if (cached !== undefined && performance.now() < cached.expiresAt) return cached.workspaceId;
    const [row] = await sql`SELECT hash, workspace_id FROM api_keys WHERE hash = ${hash}`;
    if (row === undefined || !timingSafeEqual(Buffer.from(row.hash), Buffer.from(hash))) return null;
    known.set(hash, { workspaceId: row.workspace_id, expiresAt: performance.now() + KEY_AGE_MS_MAX });
    return row.workspace_id;
  };
}

/**
 * What a good engineer writes in a day: a key, a schema, one row for each Idempotency-Key, and the answer once it is on
 * disk. Delivery would read the rows that are queued.
 */
function outbox(sql: SQL) {
  const workspaceOf = keyCheck(sql);
  return new Elysia().post(
    "/api/v1/emails",
    async ({ body, headers, set, status }) => {
      const workspaceId = await workspaceOf(headers.authorization);
      if (workspaceId === null) return status(401);
      const key = headers["idempotency-key"];
      if (key === undefined) return status(400);
      const { from, to, subject, html = null, text = null } = body;
      let [row] = await sql`
        INSERT INTO outbox (id, workspace_id, idempotency_key, sender, recipient, subject, html, body)
        VALUES (${Bun.randomUUIDv7()}, ${workspaceId}, ${key}, ${from}, ${to}, ${subject}, ${html}, ${text})
        ON CONFLICT (workspace_id, idempotency_key) DO NOTHING RETURNING id, status, created_at`;
      row ??= (
        await sql`SELECT id, status, created_at FROM outbox
          WHERE workspace_id = ${workspaceId} AND idempotency_key = ${key}`
      )[0];
      set.status = 202;
      set.headers.location = `/api/v1/emails/${row.id}`;
      return { id: row.id, object: "email", status: row.status, created_at: row.created_at };
    },
    { body: Mail },
  );
}

if (import.meta.main) {
  const { databaseUrl, apiKey } = JSON.parse(process.argv[2] ?? "{}") as OutboxOptions;
  const sql = new SQL(databaseUrl, { max: POOL_CONNECTIONS });
  await makeTables(sql, apiKey);
  const { server } = outbox(sql).listen({ hostname: "127.0.0.1", port: 0 });
  process.stdout.write(String(server?.url.href));
}
