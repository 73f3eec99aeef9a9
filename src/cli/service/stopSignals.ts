import { readFileSync } from "node:fs";
import { constants } from "node:os";

const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
export type StopSignal = (typeof STOP_SIGNALS)[number];

/** Only Linux tells. Elsewhere a process without a terminal may have been started by `nohup`. */
function isHangUpIgnored(): boolean {
  try {
    const [, ignored = "0"] = /^SigIgn:\s*([\da-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
    return ((BigInt(`0x${ignored}`) >> BigInt(constants.signals.SIGHUP - 1)) & 1n) === 1n;
  } catch {
    return process.stdout.isTTY !== true;
  }
}

/**
 * Handles the signals that ask the service, or a command, to stop, until it is disposed of. A closed terminal sends
 * SIGHUP. Under `nohup` that is left out: a listener would undo that it is ignored.
 */
export function handleStopSignals(options: Omit<StopSignalsOptions, "nowMs">): Disposable {
  const receive = stopSignals({ ...options, nowMs: () => performance.now() });
  const isIgnored = isHangUpIgnored();
  const signals = STOP_SIGNALS.filter((signal) => !(isIgnored && signal === "SIGHUP"));
  for (const signal of signals) process.on(signal, receive);
  return {
    [Symbol.dispose]() {
      for (const signal of signals) process.removeListener(signal, receive);
    },
  };
}

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
  /** A later one: end at once. By default the process does. */
  readonly endAtOnce?: (signal: StopSignal) => void;
}

/** Handles each signal in order of arrival. */
export function stopSignals({
  nowMs,
  drain,
  endAtOnce = (signal) => process.exit(statusOf(signal)),
}: StopSignalsOptions): (signal: StopSignal) => void {
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
