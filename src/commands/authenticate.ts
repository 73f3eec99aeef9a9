import { isUsable } from "../domain/apiKey/state.ts";
import { apiKeyId } from "../kernel/apiKeyText.ts";
import { equalInConstantTime } from "../kernel/instanceKeys.ts";
import type { Services } from "./services.ts";

/** Who is calling: a key of one workspace, and what it may do. */
export interface Principal {
  readonly keyId: string;
  readonly workspaceId: string;
  readonly scopes: ReadonlySet<string>;
}

const BEARER = /^Bearer ([\x21-\x7e]+)$/i;

/** The principal behind an Authorization header; null for a missing, malformed, unknown, revoked or expired key. */
export async function authenticate(
  services: Services,
  authorization: string | null,
): Promise<Principal | null> {
  const token = BEARER.exec(authorization ?? "")?.[1];
  const keyId = token === undefined ? null : apiKeyId(token);
  if (token === undefined || keyId === null) return null;
  const key = await services.apiKeys.get(keyId);
  if (!isUsable(key, services.clock.now())) return null;
  if (!equalInConstantTime(services.keys.hashApiKey(token), key.hash)) return null;
  return { keyId, workspaceId: key.workspaceId, scopes: key.scopes };
}
