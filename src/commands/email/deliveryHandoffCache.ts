import { LRUCache } from "lru-cache";
import type { EmailHistory } from "./emailHistory.ts";

/**
 * How much content is cached, in bytes of JSON, and for how long. While delivery keeps up, less than this waits for it.
 * When it falls behind, entries are evicted before their turn, and every full garbage collection still scans them.
 */
const BYTES_MAX = 4_000_000;
const AGE_MS_MAX = 60_000;

/**
 * Messages that this instance has just accepted, as their streams were then, so delivery need not read them back. A
 * stale entry is safe: the claim is appended at the cached revision, and loses if anything has happened since.
 */
export interface DeliveryHandoffCache {
  put(id: string, history: EmailHistory, bytes: number): void;
  /** Returns a history and removes it; null if it is not cached. */
  take(id: string): EmailHistory | null;
}

export function deliveryHandoffCache(): DeliveryHandoffCache {
  const histories = new LRUCache<string, EmailHistory>({ maxSize: BYTES_MAX, ttl: AGE_MS_MAX });
  return {
    put: (id, history, bytes) => {
      histories.set(id, history, { size: bytes });
    },
    take(id) {
      const history = histories.get(id) ?? null;
      if (history !== null) histories.delete(id);
      return history;
    },
  };
}
