import { type EpochMs, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";

export interface WebhookPolicy {
  /** How long a worker may take for an attempt: longer than every time-out of a call. */
  readonly leaseMs: number;
  /** The delay before each attempt, the first included (the schedule of Standard Webhooks). */
  readonly scheduleMs: readonly number[];
  /** The delay after an error on our side. */
  readonly ownFaultRetryMs: number;
}

export const WEBHOOK_POLICY: WebhookPolicy = {
  leaseMs: 30 * SECOND_MS,
  scheduleMs: [
    0,
    5 * SECOND_MS,
    5 * MINUTE_MS,
    30 * MINUTE_MS,
    2 * HOUR_MS,
    5 * HOUR_MS,
    10 * HOUR_MS,
    14 * HOUR_MS,
    20 * HOUR_MS,
    24 * HOUR_MS,
  ],
  ownFaultRetryMs: 10 * SECOND_MS,
};

/** Up to this share of a delay is added at random, so calls that failed together are not retried together. */
const JITTER_MAX = 0.1;
/** A Retry-After counts up to this many times the scheduled delay. */
const RETRY_AFTER_FACTOR_MAX = 2;

/** What a decision needs that is not in the log. */
export interface DecisionInput {
  readonly now: EpochMs;
  /** In [0, 1). */
  readonly random: number;
}

/** The delay in ms before the next attempt once `counted` attempts have failed; null after the last one. */
export function retryDelayMs(
  policy: WebhookPolicy,
  counted: number,
  random: number,
  retryAfterMs: number | null,
): number | null {
  const baseMs = policy.scheduleMs[counted];
  if (baseMs === undefined) return null;
  const heededMs = Math.min(Math.max(retryAfterMs ?? 0, baseMs), baseMs * RETRY_AFTER_FACTOR_MAX);
  return Math.round(heededMs * (1 + JITTER_MAX * random));
}
