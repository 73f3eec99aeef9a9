import { MINUTE_MS } from "../../kernel/time.ts";
import { type Clock, deadlineIn, leftMs } from "../../ports/clock.ts";
import type { SendDeadlines } from "../../ports/mail/mailTransport.ts";
import { leaseDeadline } from "../worker/leaseDeadline.ts";

/**
 * How long everything before the final dot may take. The relay does not have the message yet, so it is safe to give up
 * far sooner than RFC 5321 §4.5.3.2.6 permits after the dot, and a relay that hangs keeps no worker for as long.
 */
const HANDOVER_MS_MAX = 2 * MINUTE_MS;

/** How long relays may be used under a claim. `claimingSince`: when the claim's append began, monotonic. */
export function mailDeadlines(clock: Clock, leaseMs: number, claimingSince: number): SendDeadlines {
  const reply = leaseDeadline(clock, leaseMs, claimingSince);
  const handoverMs = HANDOVER_MS_MAX - (clock.monotonicMs() - claimingSince);
  return { handover: deadlineIn(clock, Math.min(handoverMs, leftMs(clock, reply))), reply };
}
