import { RateLimiterMemory } from "rate-limiter-flexible";
import type { Principal } from "../../commands/apiKey/authenticate.ts";
import type { WorkspaceLimits } from "../../domain/workspace/limits.ts";
import { addressGroup } from "../../kernel/network/clientIp.ts";
import { SECOND_MS } from "../../kernel/time.ts";

/** What became of one request of a key. */
export interface RateVerdict {
  /** RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers); none where nothing is limited. */
  readonly headers: Readonly<Record<string, string>>;
  /** When the next request may come, in whole seconds; null while requests may go on. */
  readonly retryAfterSeconds: number | null;
}

/** How often callers may come, counted in fixed windows by this instance for itself. */
export interface RateLimits {
  /** Counts a request of a known key against the limits of the key and of its workspace. */
  count(principal: Principal, limits: WorkspaceLimits): Promise<RateVerdict>;
  /** Counts a request whose key was not accepted; the seconds to wait when its address has had too many of them. */
  countFailure(address: string): Promise<number | null>;
  /** Counts a large page that needs no key; the seconds to wait when its address has had too many of them. */
  countPage(address: string): Promise<number | null>;
}

const WINDOW_SECONDS = 1;
const ADDRESS_WINDOW_SECONDS = 60;
/** Large pages for one client address in a minute: what it does not read is some 50 MB at most. */
export const PAGES_PER_MINUTE_MAX = 60;
/** Client addresses that are counted at once; the oldest make room. */
const ADDRESSES_MAX = 50_000;
const UNLIMITED: RateVerdict = { headers: {}, retryAfterSeconds: null };

/** One limit of a request and what is left of it. */
interface Count {
  readonly name: "key" | "workspace";
  readonly quota: number;
  readonly used: number;
  readonly resetSeconds: number;
}

/** The rest of a window: its length at most, because a clock that goes back makes it seem longer. */
function restSeconds(ms: number, windowSeconds: number): number {
  return Math.min(windowSeconds, Math.max(1, Math.ceil(ms / SECOND_MS)));
}

function verdictOf(counts: readonly Count[]): RateVerdict {
  let policy = "";
  let state = "";
  let retryAfterSeconds: number | null = null;
  for (const { name, quota, used, resetSeconds } of counts) {
    const comma = policy === "" ? "" : ", ";
    policy += `${comma}"${name}";q=${quota};w=${WINDOW_SECONDS}`;
    state += `${comma}"${name}";r=${Math.max(0, quota - used)};t=${resetSeconds}`;
    if (used > quota) retryAfterSeconds = resetSeconds;
  }
  return { headers: { "ratelimit-policy": policy, ratelimit: state }, retryAfterSeconds };
}

/** Counts something for client addresses: says how many seconds to wait once one has had `perMinuteMax`; 0: no limit. */
function addressCounter(perMinuteMax: number): (address: string) => Promise<number | null> {
  const counts = new RateLimiterMemory({ points: perMinuteMax, duration: ADDRESS_WINDOW_SECONDS });
  const addresses = new Set<string>();
  const remember = (address: string): void => {
    addresses.delete(address);
    addresses.add(address);
    const [oldest] = addresses;
    if (addresses.size <= ADDRESSES_MAX || oldest === undefined) return;
    addresses.delete(oldest);
    void counts.delete(oldest);
  };
  return async (address) => {
    if (perMinuteMax === 0) return null;
    const group = addressGroup(address);
    const { consumedPoints, msBeforeNext, isFirstInDuration } = await counts.penalty(group);
    if (isFirstInDuration) remember(group);
    return consumedPoints > perMinuteMax ? restSeconds(msBeforeNext, ADDRESS_WINDOW_SECONDS) : null;
  };
}

/** `failuresPerMinute` 0: failures are not counted. */
export function makeRateLimits(failuresPerMinute: number): RateLimits {
  // Workspaces differ in their limits, so the limiters only count: `penalty` never refuses.
  const countFailure = addressCounter(failuresPerMinute);
  const countPage = addressCounter(PAGES_PER_MINUTE_MAX);
  const keys = new RateLimiterMemory({ points: 0, duration: WINDOW_SECONDS });
  const workspaces = new RateLimiterMemory({ points: 0, duration: WINDOW_SECONDS });
  const countIn = async (
    limiter: RateLimiterMemory,
    id: string,
    limit: Pick<Count, "name" | "quota">,
  ): Promise<Count> => {
    const { consumedPoints: used, msBeforeNext } = await limiter.penalty(id);
    return { ...limit, used, resetSeconds: restSeconds(msBeforeNext, WINDOW_SECONDS) };
  };
  return {
    async count({ keyId, workspaceId }, { keyRequestsPerSecond, workspaceRequestsPerSecond }) {
      const counts: Count[] = [];
      if (keyRequestsPerSecond > 0) {
        const count = await countIn(keys, keyId, { name: "key", quota: keyRequestsPerSecond });
        // A key beyond its own limit takes nothing from the other keys of its workspace.
        if (count.used > count.quota) return verdictOf([count]);
        counts.push(count);
      }
      if (workspaceRequestsPerSecond > 0) {
        const quota = workspaceRequestsPerSecond;
        counts.push(await countIn(workspaces, workspaceId, { name: "workspace", quota }));
      }
      return counts.length === 0 ? UNLIMITED : verdictOf(counts);
    },
    countFailure,
    countPage,
  };
}
