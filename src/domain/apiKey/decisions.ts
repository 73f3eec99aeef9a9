import type { Decision } from "../../kernel/decider.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { ApiKeyEvent } from "./events.ts";
import type { ApiKey, ApiKeyState } from "./state.ts";

type Issued = Extract<ApiKeyEvent, { type: "ApiKeyIssued" }>["data"];

export function issueApiKey(
  state: ApiKeyState,
  key: Issued,
): Decision<"issued" | "alreadyExists", ApiKeyEvent> {
  if (state !== null) return { outcome: "alreadyExists", events: [] };
  return { outcome: "issued", events: [{ type: "ApiKeyIssued", data: key }] };
}

/** A repeat gives no events. */
export function revokeApiKey(state: ApiKeyState): Decision<"revoked" | "notFound", ApiKeyEvent> {
  if (state === null) return { outcome: "notFound", events: [] };
  return { outcome: "revoked", events: state.revoked ? [] : [{ type: "ApiKeyRevoked", data: {} }] };
}

/** Why a key may not issue another one. */
export type IssueRefusal =
  | { readonly kind: "scopesNotHeld"; readonly scopes: readonly string[] }
  /** `expiresAt` is the issuing key's own expiry. */
  | { readonly kind: "outlivesIssuer"; readonly expiresAt: EpochMs };

/** A key gives only what it has: its own scopes, and no more time than it has itself. Null: it may. */
export function issueRefusal(
  issuer: ApiKey,
  wanted: { readonly scopes: readonly string[]; readonly expiresAt: EpochMs | null },
): IssueRefusal | null {
  const scopes = wanted.scopes.filter((scope) => !issuer.scopes.has(scope));
  if (scopes.length > 0) return { kind: "scopesNotHeld", scopes };
  const { expiresAt } = issuer;
  if (expiresAt === null || (wanted.expiresAt !== null && wanted.expiresAt <= expiresAt)) return null;
  return { kind: "outlivesIssuer", expiresAt };
}
