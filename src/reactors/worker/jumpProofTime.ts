import { type EpochMs, MINUTE_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";

/** Clocks drift and are corrected by less than this. */
const DRIFT_MS_MAX = MINUTE_MS;
/** A clock that went ahead by more is believed when it has stayed there for so long. */
export const SETTLING_MS = 15 * MINUTE_MS;

/**
 * The time of day for what cannot be taken back, such as the end of a message's life or of its retention. Where the
 * clock went ahead, by a mistake or while the machine was suspended, it leaves that out until {@link SETTLING_MS} are
 * over: a mistake is mostly corrected by then. It notices that when it is asked.
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
