import { LRUCache } from "lru-cache";
import { isNearLimit } from "../../domain/quota/nearLimitRule.ts";
import { type EpochMs, rfc3339, utcDay } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";

/** The limits that stop a workspace's mail when they are used up. */
export const WATCHED_LIMITS = ["daily", "storage", "content"] as const;
export type WatchedLimit = (typeof WATCHED_LIMITS)[number];

/** How much of a limit a mail owner uses: test mail has its own storage and content. In messages or bytes. */
export interface LimitUse {
  readonly limit: WatchedLimit;
  readonly ownerId: string;
  readonly used: number;
  readonly of: number;
}

/** What a decision saw of a limit. */
interface SeenUse extends LimitUse {
  /** Whether the limit refuses what would fit if it were not used up. */
  readonly isUsedUp: boolean;
}

/** A limit of which 80 % are used, or all. */
export interface NearLimit extends SeenUse {
  /** The UTC day, such as 2026-11-21. */
  readonly day: string;
}

/** Notices limits that are nearly used up, when decisions use them. */
export interface LimitWatch {
  /** Notes what a decision saw, at `at` by the wall clock: now, unless it is about another day. */
  note(seen: SeenUse, at?: EpochMs): void;
  /** The limits that were seen near their end since the start, those seen last: 100 of each kind at most. */
  seen(): readonly Pick<LimitUse, "limit" | "ownerId">[];
}

interface LimitWatchOptions {
  readonly clock: Clock;
  /** Called at most twice for each limit, owner and day: when 80 % are used, and when all is. */
  readonly onNearLimit?: (near: NearLimit) => void;
}

/** The limits of each kind that are remembered. */
export const NEAR_LIMIT_MAX = 100;

export function limitWatch({ clock, onNearLimit = () => {} }: LimitWatchOptions): LimitWatch {
  const owners = new Map(
    WATCHED_LIMITS.map((limit) => [limit, new LRUCache<string, true>({ max: NEAR_LIMIT_MAX })]),
  );
  const warnOnce = warnOncePerDay(onNearLimit);
  return {
    note(seen, at = clock.now()) {
      const { limit, ownerId, used, of, isUsedUp } = seen;
      if (used === 0 || !(isUsedUp || isNearLimit(used, of))) return;
      owners.get(limit)?.set(ownerId, true);
      warnOnce({ ...seen, day: utcDay(rfc3339(at)) });
    },
    seen: () => [...owners].flatMap(([limit, ids]) => [...ids.keys()].map((ownerId) => ({ limit, ownerId }))),
  };
}

/** Limits the warnings of this process to one for each limit, owner, share and day. */
function warnOncePerDay(warn: (near: NearLimit) => void): (near: NearLimit) => void {
  const warned = new Set<string>();
  let lastDay = "";
  return (near) => {
    // A send that began before midnight can come after the first of the new day. Its day is over.
    if (near.day < lastDay) return;
    if (near.day > lastDay) warned.clear();
    lastDay = near.day;
    const name = `${near.limit}/${near.ownerId}/${near.isUsedUp}`;
    if (warned.has(name)) return;
    warned.add(name);
    warn(near);
  };
}
