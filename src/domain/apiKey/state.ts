import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/decider.ts";
import { type EpochMs, epochMs } from "../../kernel/time.ts";
import type { ApiKeyEvent } from "./events.ts";

export interface ApiKey {
  readonly workspaceId: string;
  readonly name: string;
  readonly hash: string;
  readonly scopes: ReadonlySet<string>;
  /** Null: it does not expire. */
  readonly expiresAt: EpochMs | null;
  readonly revoked: boolean;
}

/** `null` when no such key was ever issued. */
export type ApiKeyState = ApiKey | null;

function evolve(state: ApiKeyState, event: ApiKeyEvent): ApiKeyState {
  switch (event.type) {
    case "ApiKeyIssued": {
      const { workspaceId, name, hash, scopes, expiresAt } = event.data;
      const expiry = expiresAt === undefined ? null : epochMs(expiresAt);
      return { workspaceId, name, hash, scopes: new Set(scopes), expiresAt: expiry, revoked: false };
    }
    case "ApiKeyRevoked":
      return state === null ? null : { ...state, revoked: true };
    default:
      return never(event);
  }
}

export const apiKeyDecider: Decider<ApiKeyState, ApiKeyEvent> = { initialState: null, evolve };

/** Whether the key opens anything at `now`. */
export function isUsable(key: ApiKeyState, now: EpochMs): key is ApiKey {
  return key !== null && !key.revoked && (key.expiresAt === null || now < key.expiresAt);
}
