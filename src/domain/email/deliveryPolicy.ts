import { type EpochMs, HOUR_MS, MINUTE_MS } from "../../kernel/time.ts";

/** The rules of delivery that an operator can set; times in ms. */
export interface DeliveryPolicy {
  /** How long delivery is tried after acceptance, or after the scheduled time, pauses not counted. */
  readonly lifetimeMs: number;
  readonly leaseMs: number;
  readonly retryBaseMs: number;
  readonly retryMaxMs: number;
  readonly relayRetryMs: number;
  /** Whether a message is tried again when it is not known whether the relay has it. */
  readonly onAmbiguous: "retry" | "hold";
}

export const DELIVERY_POLICY: DeliveryPolicy = {
  lifetimeMs: 72 * HOUR_MS,
  leaseMs: 2 * MINUTE_MS,
  retryBaseMs: MINUTE_MS,
  retryMaxMs: 4 * HOUR_MS,
  relayRetryMs: 30_000,
  onAmbiguous: "retry",
};

/** The input of a decision that is not in the log. */
export interface DecisionInput {
  readonly now: EpochMs;
  /** The time by which the end of its life is decided; left out: `now`. */
  readonly jumpProofNow?: EpochMs;
  /** In [0, 1). */
  readonly random: number;
  /** How long sending was paused since the delivery was to begin. That time does not count. */
  readonly pausedMs: number;
}
