import { constants } from "node:os";

/** The signals that ask the service, or a command, to stop. */
export const STOP_SIGNALS = ["SIGINT", "SIGTERM"] as const;
export type StopSignal = (typeof STOP_SIGNALS)[number];

/** The exit status of a process that such a signal has ended, as in shells. */
export function statusOf(signal: StopSignal): number {
  return 128 + constants.signals[signal];
}

/**
 * How long further signals count as part of the same Ctrl-C: the terminal signals every process of the group, and the
 * runner of `bun start` passes its own on.
 */
const SAME_SIGNAL_MS = 1_000;

interface StopSignalsOptions {
  /** A monotonic clock, in ms. */
  readonly nowMs: () => number;
  /** The first signal: finish what was begun. */
  readonly drain: (signal: StopSignal) => void;
  /** A later one: end at once. */
  readonly endAtOnce: (signal: StopSignal) => void;
}

/** Handles each signal in order of arrival. */
export function stopSignals({ nowMs, drain, endAtOnce }: StopSignalsOptions): (signal: StopSignal) => void {
  let firstAtMs: number | null = null;
  return (signal) => {
    if (firstAtMs === null) {
      firstAtMs = nowMs();
      drain(signal);
    } else if (nowMs() - firstAtMs >= SAME_SIGNAL_MS) {
      endAtOnce(signal);
    }
  };
}
