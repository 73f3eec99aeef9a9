import { constants } from "node:os";
import { projections } from "../../../projections/index.ts";
import type { Projection } from "../../../projections/projection.ts";
import type { ReadingProgress } from "../../readModels/rebuildReadModels.ts";
import { howFar, progressBar } from "../output/progressBar.ts";
import { UsageError } from "../program/command.ts";

/** The read model of that name; a usage error when there is none. */
export function projectionNamed(name: string): Projection {
  const found = projections.find((projection) => projection.name === name);
  if (found) return found;
  const names = projections.map((one) => one.name).join(", ");
  throw new UsageError(`there is no projection ${name}; there are ${names}`);
}

/** A bar for a reading of the log: how far it is, how fast it goes and how long it will still take. */
export function readingBar(label: string): { show(progress: ReadingProgress): void; end(): void } {
  const bar = progressBar(label);
  return {
    show(progress) {
      const { events, elapsedMs, eventsPerSecond } = progress;
      const done = howFar(progress);
      const left = done > 0 ? Math.round((elapsedMs / done - elapsedMs) / 1_000) : 0;
      bar.show(done, `${events} events, ${Math.round(eventsPerSecond)}/s, ${left} s left`);
    },
    end: bar.end,
  };
}

const SIGNALS = ["SIGINT", "SIGTERM"] as const;

/**
 * Runs a command that Ctrl-C and SIGTERM end cleanly: the work's signal aborts, `left` tells people what that has
 * left behind, and the exit status is the shells' own for a signal. The second signal ends the process at once.
 */
export async function interruptible(
  left: string,
  work: (signal: AbortSignal) => Promise<number>,
): Promise<number> {
  const interrupted = new AbortController();
  let status = 0;
  const listeners = SIGNALS.map((name) => {
    const listener = () => {
      status = 128 + constants.signals[name];
      interrupted.abort();
    };
    process.once(name, listener);
    return () => process.removeListener(name, listener);
  });
  try {
    return await work(interrupted.signal);
  } catch (error) {
    if (error !== interrupted.signal.reason) throw error;
    process.stderr.write(`postledger: interrupted; ${left}\n`);
    return status;
  } finally {
    for (const remove of listeners) remove();
  }
}
