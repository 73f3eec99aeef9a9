import {
  type IssueRefusal,
  issueApiKey,
  issueRefusal,
  type WantedKey,
} from "../../domain/apiKey/decisions.ts";
import type { Scope } from "../../domain/apiKey/scopes.ts";
import { type ApiKeyState, isUsable } from "../../domain/apiKey/state.ts";
import { invariant } from "../../kernel/assert.ts";
import { newApiKey } from "../../kernel/crypto/apiKeyFormat.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { messageOf } from "../../kernel/text/errorReason.ts";
import { rfc3339 } from "../../kernel/time.ts";
import { requireStoreError, StoreError } from "../../ports/eventStore.ts";
import { apiKeyAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { load, transact } from "../transact.ts";
import type { Principal } from "./authenticate.ts";
import { revokeKey } from "./revokeApiKey.ts";

interface IssueApiKey extends WantedKey {
  /** By default a fresh one. A request that may be repeated gives its own, so that only one key is issued for it. */
  readonly id?: string;
  readonly workspaceId: string;
  readonly name: string;
  readonly scopes: readonly Scope[];
  readonly issuerId?: string;
  readonly rotatedFrom?: string;
  /** A test key: its mail never leaves, and its scopes are of {@link TEST_SCOPES}. */
  readonly isTest?: boolean;
  /** Who logs in with it, as `parsePerson` returns it; null or absent: whoever has its secret. */
  readonly person?: string | null;
}

export interface IssuedKey {
  readonly id: string;
  /** Null for a person's key: nobody gets its secret, so it is of no use to whoever leaves the company. */
  readonly key: string | null;
}

/**
 * Issues a key. Only this answer carries it; the log holds a keyed hash. Null if there is no such workspace, or if a key
 * has the wanted id already.
 */
export async function issueKey(
  deps: Dependencies,
  issue: IssueApiKey,
  context: CommandContext,
): Promise<IssuedKey | null> {
  const {
    workspaceId,
    name,
    expiresAt,
    issuerId,
    rotatedFrom,
    senders,
    clientRanges,
    isTest = false,
    person = null,
  } = issue;
  if ((await deps.workspaces.get(workspaceId)) === null) return null;
  const { id, key } = newApiKey(isTest, issue.id);
  const data = {
    workspaceId,
    name,
    hash: deps.keys.hashApiKey(key),
    scopes: [...issue.scopes],
    ...omitUndefined({
      expiresAt: expiresAt === null ? undefined : rfc3339(expiresAt),
      issuerId,
      rotatedFrom,
      senders: senders ? [...senders] : undefined,
      clientRanges: clientRanges ? [...clientRanges] : undefined,
      test: isTest ? (true as const) : undefined,
      person: person ?? undefined,
    }),
  };
  const decide = (state: ApiKeyState) => issueApiKey(state, data);
  const outcome = await transact(deps.store, apiKeyAggregate.of(id), decide, { ...context, workspaceId });
  deps.apiKeys.forget(id);
  return outcome === "issued" ? { id, key: person === null ? key : null } : null;
}

export type IssueOutcome =
  | ({ readonly kind: "issued" } & IssuedKey)
  /** The issuing key was revoked or has expired since it was authenticated. */
  | { readonly kind: "issuerGone" }
  /** The same request has issued the key with the wanted id already, and its answer had the secret. */
  | { readonly kind: "repeated" }
  | IssueRefusal;

/** Issues a key for another key, which can grant only what it holds itself. */
export async function issueFurtherKey(
  deps: Dependencies,
  issuer: Principal,
  wanted: Omit<IssueApiKey, "workspaceId" | "issuerId">,
  context: CommandContext,
): Promise<IssueOutcome> {
  const { workspaceId, keyId } = issuer;
  // Read from the log itself: a key revoked a moment ago must not live on in a new one.
  const issuing = apiKeyAggregate.of(keyId);
  const { state, revision } = await load(deps.store, issuing);
  if (!isUsable(state, context.at)) return { kind: "issuerGone" };
  const refusal = issueRefusal(state, wanted);
  if (refusal !== null) return refusal;
  const issued = await issueKey(deps, { ...wanted, workspaceId, issuerId: keyId }, context);
  if (issued === null) {
    invariant(wanted.id, "a key belongs to a workspace that exists");
    return { kind: "repeated" };
  }
  // Whoever revoked the issuer in between has not seen the new key.
  const isIssuerLeft = async () => {
    const { state: after } = await load(deps.store, issuing, { state, revision });
    return isUsable(after, context.at);
  };
  const isKept = await keepKeyIf(deps, issued.id, { ...context, workspaceId }, isIssuerLeft);
  return isKept ? { kind: "issued", ...issued } : { kind: "issuerGone" };
}

/**
 * Revokes a new key unless `confirm` gives true: nobody is told its secret then. If `confirm` throws because the store is
 * unavailable, so may the revocation; the error then names the key, which stays in the list of keys.
 */
export async function keepKeyIf(
  deps: Dependencies,
  id: string,
  context: CommandContext,
  confirm: () => Promise<boolean>,
): Promise<boolean> {
  try {
    if (await confirm()) return true;
  } catch (error) {
    const revocation = await revokeKey(deps, id, context).catch(requireStoreError);
    if (revocation === "revoked") throw error;
    const left = `the new key ${id} may be left: nobody has its secret, so revoke it`;
    throw new StoreError("unavailable", `${messageOf(error)}; ${left}`, { cause: error });
  }
  await revokeKey(deps, id, context);
  return false;
}
