import { LRUCache } from "lru-cache";
import type { Email } from "../../../domain/email/state.ts";

/** About 300 bytes each. */
const ACCEPTANCES_MAX = 20_000;
const AGE_MS_MAX = 600_000;

/** What a repeat of an accepted request is answered from. */
export type Acceptance = Pick<Email, "fingerprint" | "acceptedAs" | "acceptedAt">;

/**
 * The messages that this instance has accepted or found accepted last, by their ids. An acceptance never changes, so
 * what is here is right; what is not here has to be read from the log.
 */
export type ReplayCache = Pick<LRUCache<string, Acceptance>, "get" | "set">;

/** The messages that were accepted, as this instance's read model has them. */
export interface AcceptanceList {
  /**
   * How the message was accepted; null where none is listed with this id and this fingerprint, which says nothing: the
   * log knows. Where losing an append to the log costs hardly more than asking, it is always null.
   */
  find(emailId: string, fingerprint: string): ListedAcceptance | null;
}

export type ListedAcceptance = Omit<Acceptance, "fingerprint">;

export function replayCache(): ReplayCache {
  return new LRUCache<string, Acceptance>({ max: ACCEPTANCES_MAX, ttl: AGE_MS_MAX });
}
