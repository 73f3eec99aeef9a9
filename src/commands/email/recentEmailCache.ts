import { LRUCache } from "lru-cache";
import type { EmailHistory } from "./emailHistory.ts";

/**
 * Content that is kept in memory at most, in bytes of its JSON, and for how long. Where delivery keeps up, this is more
 * than what waits for it; where it does not, what is kept is let go before its turn, and each full collection of garbage
 * goes over it.
 */
const BYTES_MAX = 4_000_000;
const AGE_MS_MAX = 60_000;

/**
 * Messages that this instance has just accepted, as their streams are right after it: delivery then need not
 * read them back. It may be wrong by the time it is used, and that is safe: the claim is appended at the
 * revision that the history was known at, and loses when anything has happened since.
 */
export interface RecentEmailCache {
  put(id: string, history: EmailHistory, bytes: number): void;
  /** The history, once; null when it is not here. */
  take(id: string): EmailHistory | null;
}

export function recentEmailCache(): RecentEmailCache {
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
