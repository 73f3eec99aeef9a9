import { LRUCache } from "lru-cache";
import type { Email } from "../../../domain/email/state.ts";

/** About 300 bytes each. */
const ACCEPTANCES_MAX = 20_000;
const AGE_MS_MAX = 600_000;

/** What answers a repeat of an accepted request. */
export type Acceptance = Pick<Email, "fingerprint" | "acceptedAs" | "acceptedAt">;

/**
 * The messages that this instance most recently accepted or found accepted, by their ids. An acceptance never changes, so
 * an entry is always right; a miss has to be read from the log.
 */
export type ReplayCache = Pick<LRUCache<string, Acceptance>, "get" | "set">;

/** The accepted messages that this instance's read model knows. */
export interface AcceptanceList {
  /**
   * How the message was accepted; null if none is listed with this id and fingerprint. A miss proves nothing; only the
   * log can tell. Always null where a lost append costs hardly more than this query.
   */
  find(emailId: string, fingerprint: string): ListedAcceptance | null;
}

type ListedAcceptance = Omit<Acceptance, "fingerprint">;

export function replayCache(): ReplayCache {
  return new LRUCache<string, Acceptance>({ max: ACCEPTANCES_MAX, ttl: AGE_MS_MAX });
}
