import { type Clock, deadlineIn } from "../../../src/ports/clock.ts";
import type { SendDeadlines } from "../../../src/ports/mail/mailTransport.ts";

/** The same deadline for the handover of a message and for the relay's answer. */
export function sendWithin(clock: Clock, timeMs: number): SendDeadlines {
  const deadline = deadlineIn(clock, timeMs);
  return { handover: deadline, reply: deadline };
}
