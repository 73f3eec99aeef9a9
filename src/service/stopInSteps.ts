import { settleWithin } from "../kernel/sleep.ts";

/** One step of a stop. */
export interface StopStep {
  readonly name: string;
  /** When it is abandoned, counted from the end of the drain time. */
  readonly endsMsAfterDrain: number;
  readonly run: () => unknown;
}

interface StopOptions {
  readonly drainTimeoutMs: number;
  /** Called for each step that is abandoned; it may still be under way until the process ends. */
  readonly onLate: (name: string) => void;
}

/** Runs the steps in order. One that takes too long is abandoned, so the stop ends in time whatever hangs. */
export async function stopInSteps(
  steps: readonly StopStep[],
  { drainTimeoutMs, onLate }: StopOptions,
): Promise<void> {
  const drainEndsAt = performance.now() + drainTimeoutMs;
  for (const { name, endsMsAfterDrain, run } of steps) {
    const leftMs = Math.max(0, drainEndsAt + endsMsAfterDrain - performance.now());
    const ended = (async () => {
      await run();
    })();
    await settleWithin(leftMs, ended, () => onLate(name));
  }
}
