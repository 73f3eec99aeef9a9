import { MINUTE_MS } from "../../kernel/time.ts";
import { type Clock, deadlineIn, leftMs } from "../../ports/clock.ts";
import type { SendDeadlines } from "../../ports/mail/mailTransport.ts";

/** The part of the lease kept for recording the outcome; the relay gets the rest. */
const LEASE_MARGIN = 0.1;
/**
 * How long everything before the final dot may take. The relay does not have the message yet, so it is safe to give up
 * far sooner than RFC 5321 §4.5.3.2.6 permits after the dot, and a relay that hangs keeps no worker for as long.
 */
const HANDOVER_MS_MAX = 2 * MINUTE_MS;

/** How long relays may be used under a claim. `claimingSince`: when the claim's append began, monotonic. */
export function mailDeadlines(clock: Clock, leaseMs: number, claimingSince: number): SendDeadlines {
  const claimedMs = clock.monotonicMs() - claimingSince;
  const reply = deadlineIn(clock, leaseMs * (1 - LEASE_MARGIN) - claimedMs);
  const handoverMs = HANDOVER_MS_MAX - claimedMs;
  return { handover: deadlineIn(clock, Math.min(handoverMs, leftMs(clock, reply))), reply };
}
