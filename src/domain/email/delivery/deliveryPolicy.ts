import { type EpochMs, HOUR_MS, MINUTE_MS } from "../../../kernel/time.ts";

/** The delivery rules that an operator can set. */
export interface DeliveryPolicy {
  /** How long delivery is tried after acceptance, or after the scheduled time, not counting pauses. */
  readonly lifetimeMs: number;
  /**
   * How long a claim lasts. Nine tenths of it are for the relay, which may take ten minutes to answer the final dot (RFC
   * 5321 §4.5.3.2.6): with a shorter lease a slow relay gets the message again.
   */
  readonly leaseMs: number;
  readonly retryBaseMs: number;
  readonly retryMaxMs: number;
  readonly relayRetryMs: number;
  /** Whether to retry a message that the relay may already have. */
  readonly onAmbiguous: "retry" | "hold";
}

export const DELIVERY_POLICY: DeliveryPolicy = {
  lifetimeMs: 72 * HOUR_MS,
  leaseMs: 12 * MINUTE_MS,
  retryBaseMs: MINUTE_MS,
  retryMaxMs: 4 * HOUR_MS,
  relayRetryMs: 30_000,
  onAmbiguous: "retry",
};

/** What a decision needs that is not in the log. */
export interface DecisionInput {
  readonly now: EpochMs;
  /** The time that decides whether the lifetime is over, safe from clock jumps; `now` if left out. */
  readonly jumpProofNow?: EpochMs;
  /** In [0, 1). */
  readonly random: number;
  /** How long sending was paused since delivery was due to begin. The lifetime does not count that time. */
  readonly pausedMs: number;
}
