/** The signals that ask the service to stop. */
export type StopSignal = "SIGINT" | "SIGTERM";

export const STOP_SIGNALS: readonly StopSignal[] = ["SIGINT", "SIGTERM"];

/** The exit status of a service that ended at once: 128 plus the signal's number, as in shells. */
export const STATUS_AT_ONCE: Readonly<Record<StopSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

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
