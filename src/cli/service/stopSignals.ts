/** The signals that ask the service to stop. */
export type StopSignal = "SIGINT" | "SIGTERM";

export const STOP_SIGNALS: readonly StopSignal[] = ["SIGINT", "SIGTERM"];

/** The exit status of a service that had to end at once, as shells count it: 128 and the signal's number. */
export const STATUS_AT_ONCE: Readonly<Record<StopSignal, number>> = { SIGINT: 130, SIGTERM: 143 };

/**
 * How long after the first signal further ones are part of the same Ctrl-C: the terminal sends one to every process of
 * the group, and the runner of `bun start` passes its own on.
 */
const SAME_SIGNAL_MS = 1_000;

interface StopSignalsOptions {
  /** By a clock that only goes forward, in ms. */
  readonly nowMs: () => number;
  /** The first signal: finish what was begun. */
  readonly drain: (signal: StopSignal) => void;
  /** A later one: end at once. */
  readonly endAtOnce: (signal: StopSignal) => void;
}

/** What to do with each signal, in the order of their coming. */
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
