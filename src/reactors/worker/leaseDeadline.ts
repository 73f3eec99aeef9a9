import { type Clock, type Deadline, deadlineIn } from "../../ports/clock.ts";

/** The part of the lease kept for recording the outcome; the relay gets the rest. */
const LEASE_MARGIN = 0.1;

/** How long the relay may be used under a claim. `claimingSince`: when the claim's append began, monotonic. */
export function leaseDeadline(clock: Clock, leaseMs: number, claimingSince: number): Deadline {
  return deadlineIn(clock, leaseMs * (1 - LEASE_MARGIN) - (clock.monotonicMs() - claimingSince));
}
