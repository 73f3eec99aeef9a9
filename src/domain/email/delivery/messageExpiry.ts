import type { EpochMs } from "../../../kernel/time.ts";
import { deliverFrom, type Email } from "../state.ts";
import type { DeliveryPolicy } from "./deliveryPolicy.ts";

/** When an undelivered message fails for good: at the end of its lifetime, or at its deadline if that is earlier. */
export function expiresAt(email: Email, policy: DeliveryPolicy, pausedMs: number): EpochMs {
  const end = deliverFrom(email) + policy.lifetimeMs + pausedMs;
  return Math.min(end, email.deliverBefore ?? end);
}
