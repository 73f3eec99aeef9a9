import { RateLimiterMemory } from "rate-limiter-flexible";
import { addressGroup } from "../../../kernel/network/clientIp.ts";
import { restSeconds } from "../../limits/rateLimits.ts";

const WINDOW_SECONDS = 60;
/** Failed log-ins per client and minute. */
export const FAILURES_PER_CLIENT_MAX = 10;
/** Failed log-ins of all clients per minute. This also limits how many clients are remembered. */
export const FAILURES_MAX = 1_000;

const ALL = "all";

/** Counts log-ins, so nobody can try one secret after another. */
interface LogInAttempts {
  /** Counts an attempt before anything in it is read. Returns the seconds to wait if there were too many, else null. */
  begin(client: string | null): Promise<number | null>;
  /** Removes a successful attempt from the count. */
  succeed(client: string | null): Promise<void>;
}

export function createLogInAttempts(): LogInAttempts {
  const clients = new RateLimiterMemory({ points: FAILURES_PER_CLIENT_MAX, duration: WINDOW_SECONDS });
  const all = new RateLimiterMemory({ points: FAILURES_MAX, duration: WINDOW_SECONDS });
  const keyOf = (client: string | null) => (client === null ? "unknown" : addressGroup(client));
  return {
    async begin(client) {
      const total = await all.get(ALL);
      if (total !== null && total.consumedPoints >= FAILURES_MAX)
        return restSeconds(total.msBeforeNext, WINDOW_SECONDS);
      const own = await clients.penalty(keyOf(client));
      // A client's refused attempts do not count against all: otherwise it could lock everybody out.
      if (own.consumedPoints > FAILURES_PER_CLIENT_MAX) return restSeconds(own.msBeforeNext, WINDOW_SECONDS);
      await all.penalty(ALL);
      return null;
    },
    async succeed(client) {
      await Promise.all([clients.reward(keyOf(client)), all.reward(ALL)]);
    },
  };
}
