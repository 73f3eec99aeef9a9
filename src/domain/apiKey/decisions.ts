import type { Decision } from "../../kernel/decider.ts";
import type { ApiKeyEvent } from "./events.ts";
import type { ApiKeyState } from "./state.ts";

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
