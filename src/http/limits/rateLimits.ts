import type { Principal } from "../../commands/apiKey/authenticate.ts";
import { FixedWindowCounter } from "../../commands/fixedWindowCounter.ts";
import type { WorkspaceLimits } from "../../domain/workspace/workspaceLimits.ts";
import { addressGroup } from "../../kernel/network/clientIp.ts";
import { MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";

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
  count(principal: Principal, limits: WorkspaceLimits): RateVerdict;
  /** Counts a request or a log-in with an invalid secret. Returns how many seconds its address has to wait, null if none. */
  countFailure(address: string): number | null;
  /** Counts a large page that needs no key. Returns how many seconds its address has to wait, null if none. */
  countPage(address: string): number | null;
}

const WINDOW_SECONDS = 1;
/** Large pages per client address and minute: unread, they hold some 50 MB at most. */
export const PAGES_PER_MINUTE_MAX = 60;
/** Client addresses, keys and workspaces counted at once; those whose windows began first make room. */
const ADDRESSES_MAX = 50_000;
const KEYS_MAX = 10_000;
const WORKSPACES_MAX = 10_000;
const UNLIMITED: RateVerdict = { headers: {}, retryAfterSeconds: null };

/** One limit of a request and its use. */
interface Count {
  readonly name: "key" | "workspace";
  readonly quota: number;
  readonly used: number;
  readonly resetSeconds: number;
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
function addressCounter(perMinuteMax: number): (address: string) => number | null {
  if (perMinuteMax === 0) return () => null;
  const counter = new FixedWindowCounter(MINUTE_MS, ADDRESSES_MAX);
  return (address) => {
    const { events, restMs } = counter.count(addressGroup(address), performance.now());
    return events > perMinuteMax ? Math.ceil(restMs / SECOND_MS) : null;
  };
}

/** `failuresPerMinute` 0: failures are not counted. */
export function createRateLimits(failuresPerMinute: number): RateLimits {
  // Limits differ by workspace, so these only count.
  const keys = new FixedWindowCounter(WINDOW_SECONDS * SECOND_MS, KEYS_MAX);
  const workspaces = new FixedWindowCounter(WINDOW_SECONDS * SECOND_MS, WORKSPACES_MAX);
  const countIn = (counter: FixedWindowCounter, id: string, limit: Pick<Count, "name" | "quota">): Count => {
    const { events, restMs } = counter.count(id, performance.now());
    return { ...limit, used: events, resetSeconds: Math.ceil(restMs / SECOND_MS) };
  };
  return {
    count({ keyId, workspaceId }, { keyRequestsPerSecond, workspaceRequestsPerSecond }) {
      const counts: Count[] = [];
      if (keyRequestsPerSecond > 0) {
        const count = countIn(keys, keyId, { name: "key", quota: keyRequestsPerSecond });
        // A key over its own limit uses nothing of its workspace's.
        if (count.used > count.quota) return verdictOf([count]);
        counts.push(count);
      }
      if (workspaceRequestsPerSecond > 0) {
        const quota = workspaceRequestsPerSecond;
        counts.push(countIn(workspaces, workspaceId, { name: "workspace", quota }));
      }
      return counts.length === 0 ? UNLIMITED : verdictOf(counts);
    },
    countFailure: addressCounter(failuresPerMinute),
    countPage: addressCounter(PAGES_PER_MINUTE_MAX),
  };
}
