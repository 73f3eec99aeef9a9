import type { EpochMs } from "../kernel/time.ts";

/** The source of time. Decisions get times as data. */
export interface Clock {
  /** The time of day. */
  now(): EpochMs;
  /** Milliseconds that never go back, even when the time of day is set: for measuring durations. */
  monotonicMs(): number;
}
