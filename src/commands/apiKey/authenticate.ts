import { type ApiKey, isUsable } from "../../domain/apiKey/state.ts";
import { apiKeyId } from "../../kernel/crypto/apiKeyFormat.ts";
import { equalInConstantTime } from "../../kernel/crypto/equalInConstantTime.ts";
import type { Dependencies } from "../dependencies.ts";

/** Who is calling: a key of one workspace, and what it may do. */
export interface Principal extends Pick<ApiKey, "workspaceId" | "scopes" | "senders" | "clients" | "isTest"> {
  readonly keyId: string;
}

/** A key that is no longer accepted. */
export interface EndedKey {
  readonly keyId: string;
  readonly workspaceId: string;
  readonly status: "revoked" | "expired";
}

/** Why a request is not authenticated. `revoked` and `expired` are told only to somebody who holds the whole key. */
export type AuthenticationFault = "missing" | "noBearer" | "malformed" | "unknown" | EndedKey["status"];

/** A request that is not authenticated. */
export interface Unauthenticated {
  readonly fault: AuthenticationFault;
  /** Null unless the fault is that the key has ended. */
  readonly endedKey: EndedKey | null;
}

function unauthenticated(fault: Exclude<AuthenticationFault, EndedKey["status"]>): Unauthenticated {
  return { fault, endedKey: null };
}

/** One space or more (RFC 9110 §11.4). */
const BEARER = /^Bearer +([\x21-\x7e]+)$/i;

/**
 * The principal behind an Authorization header, or why there is none. Without the whole secret, the answer is the same
 * for a key that exists and for one that does not.
 */
export async function authenticate(
  deps: Dependencies,
  authorization: string | null,
): Promise<Principal | Unauthenticated> {
  if (authorization === null || authorization === "") return unauthenticated("missing");
  const token = BEARER.exec(authorization)?.[1];
  if (token === undefined) return unauthenticated("noBearer");
  const keyId = apiKeyId(token);
  if (keyId === null) return unauthenticated("malformed");
  const hash = deps.keys.hashApiKey(token);
  const { state: key } = await deps.apiKeys.loaded(keyId);
  if (key === null || !equalInConstantTime(hash, key.hash)) return unauthenticated("unknown");
  const admission = admitted(deps, keyId, key);
  return "status" in admission ? { fault: admission.status, endedKey: admission } : admission;
}

/**
 * The principal of a key that was authenticated before, such as a session's; null if the key is no longer usable. At most
 * a second old.
 */
export async function principalOfKey(deps: Dependencies, keyId: string): Promise<Principal | null> {
  const key = await deps.apiKeys.get(keyId);
  const principal = key === null ? null : admitted(deps, keyId, key);
  return principal === null || "status" in principal ? null : principal;
}

function admitted(deps: Dependencies, keyId: string, key: ApiKey): Principal | EndedKey {
  const { workspaceId, scopes, senders, clients, isTest, revoked } = key;
  const now = deps.clock.now();
  if (!isUsable(key, now)) return { keyId, workspaceId, status: revoked ? "revoked" : "expired" };
  deps.apiKeyLastUse.note(keyId, now);
  return { keyId, workspaceId, scopes, senders, clients, isTest };
}
