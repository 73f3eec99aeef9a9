import { type EpochMs, HOUR_MS, rfc3339 } from "../../../kernel/time.ts";
import type { Email } from "../state.ts";
import { DELIVERY_POLICY } from "./deliveryPolicy.ts";

/** The latest deadline, counted from when delivery may begin. A deadline only ever shortens the time for delivery. */
export const DELIVER_BEFORE_MS_MAX = DELIVERY_POLICY.lifetimeMs;

/** What is wrong with a deadline; null if nothing. `scheduledAt`: when delivery may begin, if not at once. */
export function deadlineFault(
  deliverBefore: EpochMs,
  scheduledAt: EpochMs | undefined,
  now: EpochMs,
): string | null {
  if (deliverBefore <= now) return `must be in the future: the service's clock says ${rfc3339(now)}`;
  if (scheduledAt !== undefined && deliverBefore <= scheduledAt) return "must be after scheduled_at";
  const begin = Math.max(now, scheduledAt ?? now);
  if (deliverBefore <= begin + DELIVER_BEFORE_MS_MAX) return null;
  const since = begin > now ? "scheduled_at" : "the request";
  return `must be at most ${DELIVER_BEFORE_MS_MAX / HOUR_MS} hours after ${since}`;
}

/** Whether no attempt to deliver the message may begin any more, whatever time its lifetime leaves. */
export function isPastDeadline({ deliverBefore }: Pick<Email, "deliverBefore">, now: EpochMs): boolean {
  return deliverBefore !== null && now >= deliverBefore;
}
