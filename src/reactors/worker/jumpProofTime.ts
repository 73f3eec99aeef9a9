import { type EpochMs, MINUTE_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";

/** Clock drift and corrections stay below this. */
const DRIFT_MS_MAX = MINUTE_MS;
/** A clock that jumped ahead by more is believed once it has stayed there this long. */
export const SETTLING_MS = 15 * MINUTE_MS;

/**
 * The time of day for what cannot be undone, such as the end of a message's life or of its retention. If the clock
 * jumps ahead, by mistake or because the machine was suspended, this ignores the jump for {@link SETTLING_MS}, in
 * which most mistakes are corrected. It notices a jump only when it is called.
 */
export function jumpProofTime(clock: Clock): () => EpochMs {
  let startedAt = clock.now() - clock.monotonicMs();
  let aheadSince: number | null = null;
  return () => {
    const [now, monotonicMs] = [clock.now(), clock.monotonicMs()];
    const isAhead = now - monotonicMs > startedAt + DRIFT_MS_MAX;
    if (isAhead) aheadSince ??= monotonicMs;
    else aheadSince = null;
    if (aheadSince !== null && monotonicMs - aheadSince < SETTLING_MS) return startedAt + monotonicMs;
    aheadSince = null;
    startedAt = now - monotonicMs;
    return now;
  };
}
