import type { EpochMs } from "../kernel/time.ts";

/** Where the time comes from that decisions get as data. */
export interface Clock {
  /** The time of day. */
  now(): EpochMs;
  /** Milliseconds that never go back, even when the time of day is set: for measuring durations. */
  monotonicMs(): number;
}
