import { type EpochMs, MINUTE_MS } from "../../../kernel/time.ts";
import type { Email } from "../state.ts";
import type { DecisionInput, DeliveryPolicy } from "./deliveryPolicy.ts";
import type { RecordedAttemptResult } from "./encryptRelayReply.ts";
import { expiresAt } from "./messageExpiry.ts";

/** Up to this share of a delay is added at random, so messages deferred together are not retried together. */
const JITTER_MAX = 0.2;
/**
 * The longest wait after an attempt that does not count, unless the first or the longest wait of the policy is set
 * otherwise.
 */
const RELAY_RETRY_MS_MAX = 15 * MINUTE_MS;

/** The longest possible wait between a deferred attempt and the next. */
export function longestWaitMs({ retryMaxMs, relayRetryMs }: DeliveryPolicy): number {
  return Math.max(retryMaxMs, relayRetryMs) * (1 + JITTER_MAX);
}

/**
 * Whether the next attempt is due. A queued message always is. So is one deferred for longer than the longest wait: a
 * clock that was ahead set its time, or ours has gone back since.
 */
export function isDue({ status, nextAttemptAt }: Email, policy: DeliveryPolicy, now: EpochMs): boolean {
  const isClockSkewed = status === "deferred" && nextAttemptAt > now + longestWaitMs(policy);
  return status === "queued" || isClockSkewed || nextAttemptAt <= now;
}

/** Exponential backoff: 1 min, 2 min, 4 min and so on, capped. */
function backoffAt(email: Email, policy: DeliveryPolicy, input: DecisionInput): EpochMs {
  const backoffMs = Math.min(policy.retryMaxMs, policy.retryBaseMs * 2 ** email.countedAttempts);
  return retryAfter(email, policy, input, backoffMs);
}

/**
 * The wait after an attempt that does not count, because the relay or a store was at fault. It doubles too: a relay that
 * takes other mail may answer one message like this for days, and a file may be damaged for days. An attempt that reaches
 * no relay claims nothing, so an outage does not lengthen it.
 */
export function uncountedRetryAt(email: Email, policy: DeliveryPolicy, input: DecisionInput): EpochMs {
  const { relayRetryMs, retryMaxMs } = policy;
  const uncounted = Math.max(1, email.attempts - email.countedAttempts);
  const longestMs = Math.max(relayRetryMs, Math.min(RELAY_RETRY_MS_MAX, retryMaxMs));
  return retryAfter(email, policy, input, Math.min(longestMs, relayRetryMs * 2 ** (uncounted - 1)));
}

/** `delayMs` from now, with jitter added, but not after the end of the lifetime. */
export function retryAfter(
  email: Email,
  policy: DeliveryPolicy,
  input: DecisionInput,
  delayMs: number,
): EpochMs {
  const at = input.now + Math.ceil(delayMs * (1 + JITTER_MAX * input.random));
  const end = expiresAt(email, policy, input.pausedMs);
  const { now, jumpProofNow = now } = input;
  // After a clock jump we do not trust yet, messages are retried past their end: they must still back off.
  return jumpProofNow < end && end <= now ? at : Math.min(at, end);
}

/**
 * Whether a message that the relay may have is held until the operator decides. A relay can never have a simulated one:
 * there is nothing to hold it for.
 */
export function holdsAmbiguous({ isSimulated }: Email, { onAmbiguous }: DeliveryPolicy): boolean {
  return onAmbiguous === "hold" && !isSimulated;
}

/** Whether a message that the relay may have is held now. */
export function isHeldForOperator(email: Email, policy: DeliveryPolicy): boolean {
  return email.status === "deferred" && email.isDeliveryUnknown && holdsAmbiguous(email, policy);
}

type DeferredResult = Extract<RecordedAttemptResult, { kind: "deferred" }>;

export function nextAttemptAt(
  email: Email,
  result: DeferredResult,
  policy: DeliveryPolicy,
  input: DecisionInput,
): EpochMs {
  if (result.ambiguous && holdsAmbiguous(email, policy)) return expiresAt(email, policy, input.pausedMs);
  if (result.attemptBurnt) return backoffAt(email, policy, input);
  return uncountedRetryAt(email, policy, input);
}
