import { MINUTE_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";

/** How much time the items that fail may cost altogether, in ms. One that is damaged fails at once. */
const FAULTS_MS_MAX = MINUTE_MS;

/** Acts on an item and returns whether it succeeded; a fault goes to `onFault`, or is thrown once they cost too much. */
export type Tolerate = (act: () => Promise<void>, onFault: (error: unknown) => void) => Promise<boolean>;

/**
 * For work on many items of which each may fail for itself, even with a `StoreError`: a damaged file must not hold up
 * the others. Where the store is away every item times out, so the work ends once failures have cost
 * {@link FAULTS_MS_MAX}.
 */
export function tolerateFaults(clock: Clock): Tolerate {
  let lostMs = 0;
  return async (act, onFault) => {
    const startedAt = clock.monotonicMs();
    try {
      await act();
      return true;
    } catch (error) {
      lostMs += clock.monotonicMs() - startedAt;
      if (lostMs > FAULTS_MS_MAX) throw error;
      onFault(error);
      return false;
    }
  };
}
