import { unlessAborted } from "../../kernel/concurrency/unlessAborted.ts";
import { type PeriodicWorker, periodicWorker } from "../worker/periodicWorker.ts";
import type { BreakerFault, BreakerPermit, CircuitBreaker } from "./circuitBreaker.ts";

/** How often to look whether a probe is due. A look alone costs nothing. */
const LOOK_MS = 1_000;

interface BreakerProbeOptions<Fault extends BreakerFault> {
  readonly breaker: CircuitBreaker<Fault>;
  /** Whether the probe can show that the fault is over. */
  readonly canEnd: (fault: Fault) => boolean;
  /** Tries what the breaker guards, and reports what it finds. */
  readonly probe: (permit: BreakerPermit<Fault>) => Promise<void>;
  readonly onTrouble: (error: unknown, id: string) => void;
}

/** Probes now and then while there is trouble and no message is due that would show whether it lasts. */
export function breakerProbe<Fault extends BreakerFault>(
  options: BreakerProbeOptions<Fault>,
): PeriodicWorker {
  const { breaker, canEnd, probe, onTrouble } = options;
  return periodicWorker({
    intervalMs: LOOK_MS,
    firstDelayMs: LOOK_MS,
    onTrouble: (error) => onTrouble(error, ""),
    async round({ stopping }) {
      const { trouble } = breaker;
      if (trouble === null || !canEnd(trouble)) return;
      const permit = breaker.acquireIdle();
      if (permit === null) return;
      try {
        await unlessAborted(stopping, probe(permit));
      } finally {
        permit.release();
      }
    },
  });
}
