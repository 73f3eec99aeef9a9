import { RateLimiterMemory } from "rate-limiter-flexible";
import { addressGroup } from "../../../kernel/network/clientIp.ts";
import { SECOND_MS } from "../../../kernel/time.ts";

const WINDOW_SECONDS = 60;
/** Log-ins that one client may fail at in a minute. */
export const FAILURES_PER_CLIENT_MAX = 10;
/** Log-ins that all clients together may fail at in a minute. It also bounds how many clients are remembered. */
export const FAILURES_MAX = 1_000;

const ALL = "all";

/** Counts log-ins, so that nobody can try one secret after another. */
export interface LogInAttempts {
  /** Counts an attempt before anything of it is looked at; the seconds to wait when there were too many, else null. */
  begin(client: string | null): Promise<number | null>;
  /** Takes an attempt that was let in out of the count. */
  succeed(client: string | null): Promise<void>;
}

export function makeLogInAttempts(): LogInAttempts {
  const clients = new RateLimiterMemory({ points: FAILURES_PER_CLIENT_MAX, duration: WINDOW_SECONDS });
  const all = new RateLimiterMemory({ points: FAILURES_MAX, duration: WINDOW_SECONDS });
  const keyOf = (client: string | null) => (client === null ? "unknown" : addressGroup(client));
  return {
    async begin(client) {
      const total = await all.get(ALL);
      if (total !== null && total.consumedPoints >= FAILURES_MAX) return restSeconds(total.msBeforeNext);
      const own = await clients.penalty(keyOf(client));
      // What one client is refused counts for nobody else: else it could keep all of them out.
      if (own.consumedPoints > FAILURES_PER_CLIENT_MAX) return restSeconds(own.msBeforeNext);
      await all.penalty(ALL);
      return null;
    },
    async succeed(client) {
      await Promise.all([clients.reward(keyOf(client)), all.reward(ALL)]);
    },
  };
}

/** The rest of the window: its length at most, because a clock that goes back makes it seem longer. */
function restSeconds(ms: number): number {
  return Math.min(WINDOW_SECONDS, Math.max(1, Math.ceil(ms / SECOND_MS)));
}
