import { type Decision, decided } from "../../kernel/event/decider.ts";
import { isWithin, parseAddressRange } from "../../kernel/network/clientIp.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import type { ApiKeyEvent } from "./events.ts";
import { permits } from "./scopes.ts";
import { type ApiKey, type ApiKeyState, coversSender, isUsable } from "./state.ts";

type Issued = Extract<ApiKeyEvent, { type: "ApiKeyIssued" }>["data"];

export function issueApiKey(
  state: ApiKeyState,
  key: Issued,
): Decision<"issued" | "alreadyExists", ApiKeyEvent> {
  if (state !== null) return decided("alreadyExists");
  return decided("issued", { type: "ApiKeyIssued", data: key });
}

/** Gives a key another name. The name that it has gives no events. */
export function renameApiKey(
  state: ApiKeyState,
  name: string,
): Decision<"renamed" | "notFound", ApiKeyEvent> {
  if (state === null) return decided("notFound");
  if (state.name === name) return decided("renamed");
  return decided("renamed", { type: "ApiKeyRenamed", data: { name } });
}

/** A repeat gives no events. */
export function revokeApiKey(state: ApiKeyState): Decision<"revoked" | "notFound", ApiKeyEvent> {
  if (state === null) return decided("notFound");
  return state.revoked ? decided("revoked") : decided("revoked", { type: "ApiKeyRevoked", data: {} });
}

/** How long a rotated key is accepted beside the new one, unless the caller says otherwise. */
export const OVERLAP_SECONDS_DEFAULT = 86_400;
export const OVERLAP_SECONDS_MAX = 2_592_000;

/** Ends a key that another one replaces, after an overlap, but never later than it would have expired. */
export function rotateApiKey(
  state: ApiKeyState,
  newKeyId: string,
  { now, overlapMs }: { readonly now: EpochMs; readonly overlapMs: number },
): Decision<"rotated" | "notActive", ApiKeyEvent> {
  if (!isUsable(state, now)) return decided("notActive");
  const expiresAt = rfc3339(Math.min(now + overlapMs, state.expiresAt ?? Number.POSITIVE_INFINITY));
  return decided("rotated", { type: "ApiKeyRotated", data: { newKeyId, expiresAt } });
}

/** The rights of a key to issue. */
export interface WantedKey {
  readonly scopes: readonly string[];
  /** Null: it does not expire. */
  readonly expiresAt: EpochMs | null;
  /** Null or absent: all. */
  readonly senders?: readonly string[] | null;
  readonly clientRanges?: readonly string[] | null;
}

/** Why a key may not issue another one. */
export type IssueRefusal =
  | { readonly kind: "scopesNotHeld"; readonly scopes: readonly string[] }
  /** `expiresAt` is the issuing key's own expiry. */
  | { readonly kind: "outlivesIssuer"; readonly expiresAt: EpochMs }
  /** The issuing key is restricted to `allowed`, and the new key would not be. */
  | {
      readonly kind: "boundLess";
      readonly member: "senders" | "clientRanges";
      readonly allowed: readonly string[];
    };

/** Refuses a new key that is restricted less than its issuer. */
function bindingRefusal(issuer: ApiKey, { senders, clientRanges }: WantedKey): IssueRefusal | null {
  if (issuer.senders !== null && !senders?.every((sender) => coversSender(issuer, sender))) {
    return { kind: "boundLess", member: "senders", allowed: [...issuer.senders] };
  }
  const isCovered = (text: string) => {
    const range = parseAddressRange(text);
    return range !== null && issuer.clients?.some((outer) => isWithin(range, outer));
  };
  if (issuer.clientRanges !== null && !clientRanges?.every(isCovered)) {
    return { kind: "boundLess", member: "clientRanges", allowed: issuer.clientRanges };
  }
  return null;
}

/** A key can grant only what it has: its scopes, within its restrictions, until its own expiry. Null: no refusal. */
export function issueRefusal(issuer: ApiKey, wanted: WantedKey): IssueRefusal | null {
  const scopes = wanted.scopes.filter((scope) => !permits(issuer.scopes, scope));
  if (scopes.length > 0) return { kind: "scopesNotHeld", scopes };
  const bound = bindingRefusal(issuer, wanted);
  if (bound !== null) return bound;
  const { expiresAt } = issuer;
  if (expiresAt === null || (wanted.expiresAt !== null && wanted.expiresAt <= expiresAt)) return null;
  return { kind: "outlivesIssuer", expiresAt };
}
