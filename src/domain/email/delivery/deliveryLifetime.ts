import type { EpochMs } from "../../../kernel/time.ts";
import { deliverFrom, type Email } from "../state.ts";
import type { DeliveryPolicy } from "./deliveryPolicy.ts";

/** When an undelivered message fails for good. */
export function expiresAt(email: Email, policy: DeliveryPolicy, pausedMs: number): EpochMs {
  return deliverFrom(email) + policy.lifetimeMs + pausedMs;
}
