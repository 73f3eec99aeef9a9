import type { EpochMs } from "../../../kernel/time.ts";
import { type EmailState, isTerminal } from "../state.ts";
import { isPastDeadline } from "./deliverBefore.ts";
import type { DecisionInput, DeliveryPolicy } from "./deliveryPolicy.ts";
import { expiresAt } from "./messageExpiry.ts";
import { isDue, isHeldForOperator } from "./retrySchedule.ts";

type NextDeliveryAction =
  /** Claim it and deliver. */
  | { readonly kind: "deliver" }
  /** Do nothing before this time. */
  | { readonly kind: "wait"; readonly until: EpochMs }
  /** It is claimed. Once `leaseMs` has passed since the claim was first seen, its delivery is unknown. */
  | { readonly kind: "watchLease"; readonly attempt: number; readonly leaseMs: number }
  /** Its lifetime is over, or its deadline has passed. */
  | { readonly kind: "expire" }
  /** Its deadline has passed by a clock that has jumped ahead: what cannot be undone waits until it is believed. */
  | { readonly kind: "waitForClock" }
  | { readonly kind: "none" };

/** What mail delivery must do with a message now. */
export function nextDeliveryAction(
  state: EmailState,
  input: DecisionInput,
  policy: DeliveryPolicy,
): NextDeliveryAction {
  if (state === null || isTerminal(state.status)) return { kind: "none" };
  if (state.claim) return { kind: "watchLease", attempt: state.claim.attempt, leaseMs: state.claim.leaseMs };
  const expiry = expiresAt(state, policy, input.pausedMs);
  if ((input.jumpProofNow ?? input.now) >= expiry) return { kind: "expire" };
  if (isPastDeadline(state, input.now)) return { kind: "waitForClock" };
  // A pause moves the expiry past `nextAttemptAt`. A held message must not be sent in between.
  if (isHeldForOperator(state, policy)) return { kind: "wait", until: expiry };
  if (!isDue(state, policy, input.now)) return { kind: "wait", until: state.nextAttemptAt };
  return { kind: "deliver" };
}
