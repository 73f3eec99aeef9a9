import type { EpochMs } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";

/** This part of the lease is kept for recording the outcome: the relay gets the rest. */
const LEASE_MARGIN = 0.1;

/** Until when the relay may be used under a claim; `claimingSince` is when its append began, on the monotonic clock. */
export function relayDeadline(clock: Clock, leaseMs: number, claimingSince: number): EpochMs {
  return clock.now() + leaseMs * (1 - LEASE_MARGIN) - (clock.monotonicMs() - claimingSince);
}
