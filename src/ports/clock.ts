import type { EpochMs } from "../kernel/time.ts";

/** Time, as data for decisions. */
export interface Clock {
  /** The time of day. */
  now(): EpochMs;
  /** Milliseconds that only grow, whatever happens to the time of day: for measuring durations. */
  monotonicMs(): number;
}
