import { Elysia } from "elysia";
import { activeApiKeys, apiKeyDescendants, apiKeyOf, listApiKeys } from "../../../projections/apiKeys.ts";
import {
  type IssueOutcome,
  issueFurtherKey,
  readApiKey,
  rotateKey,
} from "../../commands/apiKey/issueApiKey.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { revokeKey } from "../../commands/workspace/manageWorkspace.ts";
import { OVERLAP_SECONDS_DEFAULT } from "../../domain/apiKey/decisions.ts";
import { isApiKeyId } from "../../kernel/crypto/apiKeyFormat.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/eventMetadata.ts";
import { rfc3339, SECOND_MS } from "../../kernel/time.ts";
import { caughtUpRows, type ReadModel } from "../lists/caughtUpReads.ts";
import { pageJson, pageOf, pageRequest } from "../lists/cursorPaging.ts";
import { hooksOf } from "../server/operationHooks.ts";
import { invalid, Problem } from "../server/problem.ts";
import { commandContextOf, principalOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";
import { apiKeyOperations } from "./apiKeyOperations.ts";
import { apiKeyJson } from "./apiKeyResource.ts";
import { wantedKey } from "./issueApiKeyRequest.ts";

/** Keys of one workspace that open something. Requests that race may go a little over it. */
const ACTIVE_KEYS_MAX = 1_000;

interface ApiKeysOptions {
  readonly deps: Dependencies;
  /** The path of BASE_URL, "" or "/prefix": links begin with it. */
  readonly basePath: string;
  /** The read model `api-keys`. */
  readonly apiKeys: ReadModel;
}

/** Issuing, listing, rotating and revoking the keys of a workspace. */
export function apiKeysController(options: ApiKeysOptions) {
  return new Elysia({ normalize: false }).use(issuingKeys(options)).use(existingKeys(options));
}

function issuingKeys({ deps, basePath, apiKeys }: ApiKeysOptions) {
  const issued = async (request: Request, set: Answering, { id, key }: { id: string; key: string }) => {
    set.status = 201;
    set.headers.location = `${basePath}/api/v1/api-keys/${id}`;
    return { ...(await existing(deps, apiKeys, request, id)), key };
  };
  const requireRoom = (request: Request) => {
    const now = rfc3339(deps.clock.now());
    if (activeApiKeys(apiKeys.db, principalOf(request).workspaceId, now) < ACTIVE_KEYS_MAX) return;
    throw new Problem("API_KEY_LIMIT_REACHED", { detail: "revoke keys that are no longer used" });
  };
  const hooks = hooksOf(deps, apiKeyOperations);
  return new Elysia({ normalize: false })
    .post(
      routes.issueApiKey.path,
      async ({ body, request, set }) => {
        const context = commandContextOf(request, deps);
        const wanted = wantedKey(body, context.at);
        requireRoom(request);
        const outcome = await issueFurtherKey(deps, principalOf(request), wanted, context);
        if (outcome.kind !== "issued") throw refusal(outcome);
        return issued(request, set, outcome);
      },
      hooks("issueApiKey"),
    )
    .post(
      routes.rotateApiKey.path,
      async ({ body, params: { id }, request, set }) => {
        if (!isApiKeyId(id)) throw new Problem("NOT_FOUND");
        requireRoom(request);
        const { overlap_seconds: overlapSeconds = OVERLAP_SECONDS_DEFAULT } = body;
        const rotation = { id, overlapMs: overlapSeconds * SECOND_MS };
        const context = commandContextOf(request, deps);
        const outcome = await rotateKey(deps, principalOf(request), rotation, context);
        if (outcome.kind === "notFound") throw new Problem("NOT_FOUND");
        if (outcome.kind === "notActive") throw new Problem("API_KEY_NOT_ACTIVE");
        if (outcome.kind !== "rotated") throw refusal(outcome);
        return issued(request, set, outcome);
      },
      hooks("rotateApiKey"),
    );
}

function existingKeys({ deps, apiKeys }: ApiKeysOptions) {
  const hooks = hooksOf(deps, apiKeyOperations);
  return new Elysia({ normalize: false })
    .get(
      routes.listApiKeys.path,
      async ({ query, request }) => {
        const { workspaceId } = principalOf(request);
        const asked = pageRequest(query, isApiKeyId);
        const db = await caughtUpRows(apiKeys);
        const page = pageOf(asked, (one) => listApiKeys(db, { workspaceId, ...one }));
        return pageJson(page, (row) => apiKeyJson(deps, row));
      },
      hooks("listApiKeys"),
    )
    .get(
      routes.getApiKey.path,
      async ({ params: { id }, request }) => existing(deps, apiKeys, request, id),
      hooks("getApiKey"),
    )
    .post(
      routes.revokeApiKey.path,
      async ({ body, params: { id }, request }) => {
        const context = commandContextOf(request, deps);
        await existing(deps, apiKeys, request, id);
        await revokeKey(deps, id, context);
        if (body.with_children) await revokeChildren(deps, apiKeys, id, context);
        return existing(deps, apiKeys, request, id);
      },
      hooks("revokeApiKey"),
    );
}

interface Answering {
  status?: number | string;
  headers: { location?: string };
}

/** What a key has issued may have issued more meanwhile, so it is looked for until there is none. */
async function revokeChildren(
  deps: Dependencies,
  apiKeys: ReadModel,
  id: string,
  context: WorkspaceCommandContext,
): Promise<void> {
  for (;;) {
    const children = apiKeyDescendants(await caughtUpRows(apiKeys), id);
    if (children.length === 0) return;
    for (const child of children) await revokeKey(deps, child, context);
  }
}

/** A key of the caller's workspace as it is now. */
async function existing(deps: Dependencies, apiKeys: ReadModel, request: Request, id: string) {
  const { workspaceId } = principalOf(request);
  const found = isApiKeyId(id) ? await readApiKey(deps, workspaceId, id) : null;
  if (found === null) throw new Problem("NOT_FOUND");
  const { key, createdAt } = found;
  return apiKeyJson(deps, {
    ...key,
    id,
    scopes: [...key.scopes],
    senders: key.senders && [...key.senders],
    expiresAt: key.expiresAt === null ? null : rfc3339(key.expiresAt),
    lastUsedAt: apiKeyOf(apiKeys.db, id)?.lastUsedAt ?? null,
    createdAt,
  });
}

function refusal(outcome: Exclude<IssueOutcome, { kind: "issued" }>): Problem {
  switch (outcome.kind) {
    case "issuerGone":
      return new Problem("UNAUTHORIZED");
    case "scopesNotHeld":
      return new Problem("FORBIDDEN", {
        detail: `this key does not hold ${outcome.scopes.join(", ")}, so it cannot issue that`,
      });
    case "boundLess": {
      const what = outcome.member === "senders" ? "sends from" : "is accepted from";
      return new Problem("FORBIDDEN", {
        detail: `this key ${what} ${outcome.allowed.join(", ")} alone, so it cannot issue one that is not bound to that`,
      });
    }
    case "outlivesIssuer": {
      const expiry = rfc3339(outcome.expiresAt);
      return invalid(
        "/expires_at",
        `must be given and not be later than ${expiry}, when this key itself expires`,
      );
    }
  }
}
