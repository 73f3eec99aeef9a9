import {
  apiKeyDescendants,
  apiKeyOf,
  countActiveApiKeys,
  listApiKeys,
} from "../../../projections/apiKeys.ts";
import type { PageQuery } from "../../../projections/keysetPagination.ts";
import type { Principal } from "../../commands/apiKey/authenticate.ts";
import { type IssuedKey, type IssueOutcome, issueFurtherKey } from "../../commands/apiKey/issueApiKey.ts";
import { missingSendersOfKey } from "../../commands/apiKey/missingSendersOfKey.ts";
import { readApiKey } from "../../commands/apiKey/readApiKey.ts";
import { renameKey } from "../../commands/apiKey/renameApiKey.ts";
import { revokeKey } from "../../commands/apiKey/revokeApiKey.ts";
import { rotateKey } from "../../commands/apiKey/rotateApiKey.ts";
import { isApiKeyId } from "../../kernel/crypto/apiKeyFormat.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { rfc3339, SECOND_MS } from "../../kernel/time.ts";
import { caughtUpPage, caughtUpRows, type ListSource } from "../lists/caughtUpReads.ts";
import { found, invalid, Problem } from "../server/problem.ts";
import { apiKeyJson } from "./apiKeyResource.ts";
import { type IssueApiKeyBody, wantedKey } from "./issueApiKeyRequest.ts";

/** Active keys per workspace. Concurrent requests may exceed it slightly. */
const ACTIVE_KEYS_MAX = 1_000;

interface KeyRequest {
  /** Checked. */
  readonly body: IssueApiKeyBody;
  /** The id of the key, if the request may be repeated. */
  readonly id?: string;
}

/**
 * Issues the key that a request asks for, for the calling key; null if a request with the same id has issued it. Throws a
 * `Problem` if it cannot.
 */
export async function issueOnRequest(
  source: ListSource,
  issuer: Principal,
  { body, id }: KeyRequest,
  context: WorkspaceCommandContext,
): Promise<IssuedKey | null> {
  const wanted = { ...wantedKey(body, context.at), ...omitUndefined({ id }) };
  requireActiveKeysBelowMax(source, issuer);
  const outcome = await issueFurtherKey(source.deps, issuer, wanted, context);
  if (outcome.kind === "repeated") return null;
  if (outcome.kind !== "issued") throw refusal(outcome);
  return outcome;
}

function requireActiveKeysBelowMax({ deps, readModel }: ListSource, { workspaceId }: Principal): void {
  const now = rfc3339(deps.clock.now());
  if (countActiveApiKeys(readModel("api-keys").db, workspaceId, now) < ACTIVE_KEYS_MAX) return;
  throw new Problem("API_KEY_LIMIT_REACHED", { detail: "revoke keys that are no longer used" });
}

interface RotationRequest {
  readonly id: string;
  readonly overlapSeconds: number;
  /** The id of the new key, if the request may be repeated. */
  readonly newKeyId?: string;
}

/**
 * Issues a key that replaces another one; null if a request with the same new id has done so. Throws a `Problem` if it
 * cannot.
 */
export async function rotateOnRequest(
  source: ListSource,
  issuer: Principal,
  { id, overlapSeconds, newKeyId }: RotationRequest,
  context: WorkspaceCommandContext,
): Promise<IssuedKey | null> {
  if (!isApiKeyId(id)) throw new Problem("NOT_FOUND");
  requireActiveKeysBelowMax(source, issuer);
  const rotation = { id, overlapMs: overlapSeconds * SECOND_MS, ...omitUndefined({ newKeyId }) };
  const outcome = await rotateKey(source.deps, issuer, rotation, context);
  if (outcome.kind === "notFound") throw new Problem("NOT_FOUND");
  if (outcome.kind === "notActive") throw new Problem("API_KEY_NOT_ACTIVE");
  if (outcome.kind === "repeated") return null;
  if (outcome.kind !== "rotated") throw refusal(outcome);
  return outcome;
}

/** Gives a key of the caller's workspace another name. Throws NOT_FOUND. */
export async function renameOnRequest(
  { deps }: ListSource,
  { id, name }: { readonly id: string; readonly name: string },
  context: WorkspaceCommandContext,
): Promise<void> {
  found(isApiKeyId(id) ? await renameKey(deps, id, name, context) : null);
}

/** Revokes a key of the caller's workspace and, with `withChildren`, its descendants. Throws NOT_FOUND. */
export async function revokeOnRequest(
  source: ListSource,
  { id, withChildren }: { readonly id: string; readonly withChildren: boolean },
  context: WorkspaceCommandContext,
): Promise<void> {
  await existingKey(source, context.workspaceId, id);
  await revokeKey(source.deps, id, context);
  if (withChildren) await revokeChildren(source, id, context);
}

/** Descendants may issue further keys meanwhile, so repeat until there are none. */
async function revokeChildren(
  source: ListSource,
  id: string,
  context: WorkspaceCommandContext,
): Promise<void> {
  for (;;) {
    const children = apiKeyDescendants(await caughtUpRows(source.readModel("api-keys")), id);
    if (children.length === 0) return;
    for (const child of children) await revokeKey(source.deps, child, context);
  }
}

/** A page of a workspace's keys, newest first. */
export function pageOfApiKeys({ readModel }: ListSource, workspaceId: string, request: PageQuery) {
  return caughtUpPage(readModel("api-keys"), { workspaceId, ...request }, listApiKeys);
}

/** A key of the workspace as it is now, as JSON. Throws NOT_FOUND. */
export async function existingKey(source: ListSource, workspaceId: string, id: string) {
  const { key, createdAt } = found(isApiKeyId(id) ? await readApiKey(source.deps, workspaceId, id) : null);
  return apiKeyJson(source.deps, {
    ...key,
    id,
    scopes: [...key.scopes],
    senders: key.senders && [...key.senders],
    expiresAt: key.expiresAt === null ? null : rfc3339(key.expiresAt),
    lastUsedAt: apiKeyOf(source.readModel("api-keys").db, id)?.lastUsedAt ?? null,
    createdAt,
  });
}

/** A new key as the one answer that shows it has it, with those of its senders that the workspace lacks. */
export async function issuedKey(source: ListSource, workspaceId: string, { id, key }: IssuedKey) {
  const made = await existingKey(source, workspaceId, id);
  const missing = await missingSendersOfKey(source.deps, workspaceId, made.senders ?? []);
  return { ...made, key, missing_senders: [...missing] };
}

function refusal(outcome: Exclude<IssueOutcome, { kind: "issued" | "repeated" }>): Problem {
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
        detail: `this key ${what} ${outcome.allowed.join(", ")} only, so it cannot issue one without that restriction`,
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
