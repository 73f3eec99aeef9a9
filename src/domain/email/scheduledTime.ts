import { type Decision, decided } from "../../kernel/event/decider.ts";
import { DAY_MS, type EpochMs, HOUR_MS, rfc3339 } from "../../kernel/time.ts";
import { isPastDeadline } from "./delivery/deliverBefore.ts";
import type { EmailEvent } from "./events.ts";
import type { EmailState } from "./state.ts";

export const SCHEDULE_AHEAD_MS_MAX = 30 * DAY_MS;
/** Clocks differ, and requests wait: a time no further in the past than this means at once. */
const SCHEDULE_PAST_MS_MAX = HOUR_MS;

/** What is wrong with a scheduled time; null if nothing. */
export function scheduleFault(scheduledAt: EpochMs, now: EpochMs): string | null {
  if (scheduledAt > now + SCHEDULE_AHEAD_MS_MAX)
    return `must be at most ${SCHEDULE_AHEAD_MS_MAX / DAY_MS} days ahead`;
  if (scheduledAt < now - SCHEDULE_PAST_MS_MAX)
    return "is in the past; to send at once, give the present time";
  return null;
}

/** What is wrong with a time to which a message cannot be moved because of its deadline. */
export const PAST_DEADLINE = "must be before the deliver_before of the message";

/**
 * Moves a scheduled message to another time; a past time means now. A repeat gives no events. Once its first attempt has
 * begun, a message cannot be moved; nor can it be moved past its deadline.
 */
export function reschedule(
  state: EmailState,
  scheduledAt: EpochMs,
  now: EpochMs,
): Decision<"rescheduled" | "notScheduled" | "pastDeadline" | "notFound", EmailEvent> {
  if (state === null) return decided("notFound");
  if (state.status !== "scheduled") return decided("notScheduled");
  const at = Math.max(scheduledAt, now);
  if (isPastDeadline(state, at)) return decided("pastDeadline");
  if (at === state.scheduledAt) return decided("rescheduled");
  return decided("rescheduled", { type: "EmailRescheduled", data: { scheduledAt: rfc3339(at) } });
}
