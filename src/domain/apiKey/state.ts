import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/event/decider.ts";
import { type AddressRange, parseAddressRange } from "../../kernel/network/clientIp.ts";
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
  /** Null: the operator issued it. */
  readonly issuerId: string | null;
  /** The key that it replaced; null if none. */
  readonly rotatedFrom: string | null;
  /** The keys that replaced it. */
  readonly rotatedTo: readonly string[];
  /** Null: it may send from every sender of the workspace. */
  readonly senders: ReadonlySet<string> | null;
  /** Null: it is accepted from everywhere. */
  readonly clientRanges: readonly string[] | null;
  /** The same, parsed once. */
  readonly clients: readonly AddressRange[] | null;
  /** Whether it is a test key: its mail never leaves, and is kept apart from live mail. */
  readonly isTest: boolean;
  /** Who logs in with it, in the form of {@link parsePerson}; null: whoever has its secret. */
  readonly person: string | null;
}

/** `null` if no such key was ever issued. */
export type ApiKeyState = ApiKey | null;

function evolve(state: ApiKeyState, event: ApiKeyEvent): ApiKeyState {
  switch (event.type) {
    case "ApiKeyIssued": {
      const { workspaceId, name, hash, scopes, expiresAt } = event.data;
      const { issuerId = null, rotatedFrom = null, senders, clientRanges = null, test = false } = event.data;
      const { person = null } = event.data;
      const expiry = expiresAt === undefined ? null : epochMs(expiresAt);
      return {
        workspaceId,
        name,
        hash,
        scopes: new Set(scopes),
        expiresAt: expiry,
        revoked: false,
        issuerId,
        rotatedFrom,
        rotatedTo: [],
        senders: senders === undefined ? null : new Set(senders),
        clientRanges,
        clients: clientRanges?.map(parseAddressRange).filter((range) => range !== null) ?? null,
        isTest: test,
        person,
      };
    }
    case "ApiKeyRenamed":
      return state === null ? null : { ...state, name: event.data.name };
    case "ApiKeyRotated": {
      const { newKeyId, expiresAt } = event.data;
      const rotatedTo = [...(state?.rotatedTo ?? []), newKeyId];
      return state === null ? null : { ...state, expiresAt: epochMs(expiresAt), rotatedTo };
    }
    case "ApiKeyRevoked":
      return state === null ? null : { ...state, revoked: true };
    default:
      return never(event);
  }
}

export const apiKeyDecider: Decider<ApiKeyState, ApiKeyEvent> = { initialState: null, evolve };

type ApiKeyStatus = "active" | "expired" | "revoked";

export function keyStatus(
  { revoked, expiresAt }: Pick<ApiKey, "revoked" | "expiresAt">,
  now: EpochMs,
): ApiKeyStatus {
  if (revoked) return "revoked";
  return expiresAt !== null && expiresAt <= now ? "expired" : "active";
}

/** Whether the key is accepted at `now`. */
export function isUsable(key: ApiKeyState, now: EpochMs): key is ApiKey {
  return key !== null && keyStatus(key, now) === "active";
}

/** Whether a key may send from an address, or from a whole domain; both in lower case. */
export function coversSender({ senders }: Pick<ApiKey, "senders">, sender: string): boolean {
  if (senders === null || senders.has(sender)) return true;
  const at = sender.lastIndexOf("@");
  return at >= 0 && senders.has(sender.slice(at + 1));
}
