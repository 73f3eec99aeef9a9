import { Elysia } from "elysia";
import { type ApiKeyRow, activeApiKeys, listApiKeys } from "../../projections/apiKeys.ts";
import { type IssueOutcome, issueFurtherKey, readApiKey } from "../commands/issueFurtherKey.ts";
import { revokeKey } from "../commands/manageWorkspace.ts";
import type { Services } from "../commands/services.ts";
import { isApiKeyId } from "../kernel/apiKeyText.ts";
import { type EpochMs, epochMs, rfc3339 } from "../kernel/time.ts";
import { IssueApiKeyBody, ListApiKeysQuery } from "./apiKeySchemas.ts";
import { dateTime } from "./dateTime.ts";
import { authorize, authorizeThenRead, authorizeUnread, occasionOf, principalOf } from "./frontDoor.ts";
import { decodeCursor, pageItems, pageOf } from "./paging.ts";
import { invalid, Problem } from "./problem.ts";
import { currentRows, type ReadModel } from "./readModel.ts";
import { routes } from "./routes.ts";
import { NoQuery } from "./schemas.ts";

/** Keys of one workspace that open something. Requests that race may go a little over it. */
const ACTIVE_KEYS_MAX = 1_000;

interface ApiKeysOptions {
  readonly services: Services;
  /** The path of BASE_URL, "" or "/prefix": links begin with it. */
  readonly basePath: string;
  /** The read model `api-keys`. */
  readonly apiKeys: ReadModel;
}

/** Issuing, listing and revoking the keys of a workspace. */
export function apiKeysController({ services, basePath, apiKeys }: ApiKeysOptions) {
  return new Elysia({ normalize: false })
    .post(
      routes.issueApiKey.path,
      async ({ body: { name, scopes, expires_at: expires }, request, set }) => {
        const occasion = occasionOf(request, services);
        const issuer = principalOf(request);
        const expiresAt = expiryOf(expires ?? null, occasion.at);
        if (activeApiKeys(apiKeys.db, issuer.workspaceId, rfc3339(occasion.at)) >= ACTIVE_KEYS_MAX) {
          throw new Problem("API_KEY_LIMIT_REACHED", { detail: "revoke keys that are no longer used" });
        }
        const outcome = await issueFurtherKey(services, issuer, { name, scopes, expiresAt }, occasion);
        if (outcome.kind !== "issued") throw refusal(outcome);
        const { id, key } = outcome;
        set.status = 201;
        set.headers.location = `${basePath}/api/v1/api-keys/${id}`;
        const row = { id, name, scopes, revoked: false, createdAt: rfc3339(occasion.at) };
        const expiry = expiresAt === null ? null : rfc3339(expiresAt);
        return { ...apiKeyJson({ ...row, expiresAt: expiry }, occasion.at), key };
      },
      { parse: authorizeThenRead(services, routes.issueApiKey), body: IssueApiKeyBody, query: NoQuery },
    )
    .get(
      routes.listApiKeys.path,
      async ({ query, request }) => {
        const { workspaceId } = principalOf(request);
        const after = query.cursor === undefined ? {} : { after: decodeCursor(query.cursor, isApiKeyId) };
        const limit = pageItems(query.limit);
        const rows = listApiKeys(await currentRows(apiKeys), { workspaceId, ...after, limit: limit + 1 });
        const { shown, nextCursor } = pageOf(rows, limit);
        const now = services.clock.now();
        return { data: shown.map((row) => apiKeyJson(row, now)), next_cursor: nextCursor };
      },
      { transform: authorize(services, routes.listApiKeys), query: ListApiKeysQuery },
    )
    .get(routes.getApiKey.path, async ({ params: { id }, request }) => existing(services, request, id), {
      transform: authorize(services, routes.getApiKey),
      query: NoQuery,
    })
    .post(
      routes.revokeApiKey.path,
      async ({ params: { id }, request }) => {
        // The stream's name is made from it, so what is no key id is not asked for.
        if (!isApiKeyId(id)) throw new Problem("NOT_FOUND");
        await revokeKey(services, id, occasionOf(request, services));
        return existing(services, request, id);
      },
      { parse: authorizeUnread(services, routes.revokeApiKey), query: NoQuery },
    );
}

/** A key of the caller's workspace as it is now. */
async function existing(services: Services, request: Request, id: string) {
  const { workspaceId } = principalOf(request);
  const found = isApiKeyId(id) ? await readApiKey(services, workspaceId, id) : null;
  if (found === null) throw new Problem("NOT_FOUND");
  const { key, createdAt } = found;
  const expiresAt = key.expiresAt === null ? null : rfc3339(key.expiresAt);
  const row = { ...key, id, scopes: [...key.scopes], expiresAt, createdAt };
  return apiKeyJson(row, services.clock.now());
}

function expiryOf(text: string | null, now: EpochMs): EpochMs | null {
  if (text === null) return null;
  const at = epochMs(dateTime("/expires_at", text));
  if (at <= now) throw invalid("/expires_at", "is not in the future");
  return at;
}

function refusal(outcome: Exclude<IssueOutcome, { kind: "issued" }>): Problem {
  switch (outcome.kind) {
    case "issuerGone":
      return new Problem("UNAUTHORIZED");
    case "scopesNotHeld":
      return new Problem("FORBIDDEN", {
        detail: `this key does not hold ${outcome.scopes.join(", ")}, so it cannot issue that`,
      });
    case "outlivesIssuer": {
      const expiry = rfc3339(outcome.expiresAt);
      return invalid(
        "/expires_at",
        `must be given and not be later than ${expiry}, when this key itself expires`,
      );
    }
  }
}

function statusOf({ revoked, expiresAt }: Pick<ApiKeyRow, "revoked" | "expiresAt">, now: EpochMs) {
  if (revoked) return "revoked";
  return expiresAt !== null && epochMs(expiresAt) <= now ? "expired" : "active";
}

function apiKeyJson(row: ApiKeyRow, now: EpochMs) {
  const { id, name, scopes, expiresAt, createdAt } = row;
  const status = statusOf(row, now);
  return { id, object: "api_key", name, scopes, status, expires_at: expiresAt, created_at: createdAt };
}
