import { RateLimiterMemory } from "rate-limiter-flexible";
import type { Principal } from "../../commands/apiKey/authenticate.ts";
import type { WorkspaceLimits } from "../../domain/workspace/workspaceLimits.ts";
import { addressGroup } from "../../kernel/network/clientIp.ts";
import { SECOND_MS } from "../../kernel/time.ts";

/** The verdict on one request of a key. */
interface RateVerdict {
  /** RateLimit and RateLimit-Policy (draft-ietf-httpapi-ratelimit-headers); empty without limits. */
  readonly headers: Readonly<Record<string, string>>;
  /** When the next request may come, in whole seconds; null while requests are within the limit. */
  readonly retryAfterSeconds: number | null;
}

/** Request rates, counted in fixed windows by each instance on its own. */
export interface RateLimits {
  /** Counts a request of a known key against the limits of the key and of its workspace. */
  count(principal: Principal, limits: WorkspaceLimits): Promise<RateVerdict>;
  /** Counts a request or a log-in with an invalid secret. Returns how many seconds its address has to wait, null if none. */
  countFailure(address: string): Promise<number | null>;
  /** Counts a large page that needs no key. Returns how many seconds its address has to wait, null if none. */
  countPage(address: string): Promise<number | null>;
}

const WINDOW_SECONDS = 1;
const ADDRESS_WINDOW_SECONDS = 60;
/** Large pages per client address and minute: unread, they hold some 50 MB at most. */
export const PAGES_PER_MINUTE_MAX = 60;
/** Client addresses counted at once; the oldest make room. */
const ADDRESSES_MAX = 50_000;
const UNLIMITED: RateVerdict = { headers: {}, retryAfterSeconds: null };

/** One limit of a request and its use. */
interface Count {
  readonly name: "key" | "workspace";
  readonly quota: number;
  readonly used: number;
  readonly resetSeconds: number;
}

/** The rest of a window; at most its length, because a clock that goes back makes it look longer. */
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

/** Counts events per client address. Returns the seconds to wait after `perMinuteMax` of them; 0 means no limit. */
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
export function createRateLimits(failuresPerMinute: number): RateLimits {
  // Limits differ by workspace, so the limiters only count: `penalty` never refuses.
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
        // A key over its own limit uses nothing of its workspace's.
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
