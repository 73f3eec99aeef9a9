import type { EpochMs } from "../kernel/time.ts";

/** The source of time. Decisions get times as data. */
export interface Clock {
  /** The time of day. */
  now(): EpochMs;
  /** Milliseconds that never go back, even when the time of day is set: for measuring durations. */
  monotonicMs(): number;
}

/**
 * When something must have ended, by both clocks: what comes first counts. The time of day may be set back, and the
 * monotonic clock stands still while the machine is suspended.
 */
export interface Deadline {
  readonly at: EpochMs;
  readonly monotonicMs: number;
}

/** The deadline of what may take `timeMs` from now. */
export function deadlineIn(clock: Clock, timeMs: number): Deadline {
  return { at: clock.now() + timeMs, monotonicMs: clock.monotonicMs() + timeMs };
}

/** The time left; 0 or less if the deadline has passed. */
export function leftMs(clock: Clock, { at, monotonicMs }: Deadline): number {
  return Math.min(at - clock.now(), monotonicMs - clock.monotonicMs());
}
