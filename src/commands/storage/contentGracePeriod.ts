import type { Clock } from "../../ports/clock.ts";
import { StoreError } from "../../ports/eventStore.ts";

const MINUTE_MS = 60_000;

/**
 * A folder of content that no stream names is swept when it is older than this. A folder is written by one
 * request only, which names it within {@link CONTENT_APPEND_MS_MAX} or never; the rest is room for the append
 * itself, which ends by its own time-out.
 */
export const CONTENT_SWEEP_AGE_MS = 60 * MINUTE_MS;

/** A request that has begun to store content names it in the log within this time, or not at all. */
const CONTENT_APPEND_MS_MAX = 10 * MINUTE_MS;

/**
 * Starts the time of a request that is about to store content. What it returns is called right before the
 * append: it throws `StoreError` (`unavailable`) when the content may have been swept meanwhile, as when the
 * process was suspended. Both clocks are asked: a suspended machine stops the one, a time service moves the other.
 */
export function contentDeadline(clock: Clock): () => void {
  const [wall, monotonic] = [clock.now(), clock.monotonicMs()];
  return () => {
    const elapsedMs = Math.max(clock.now() - wall, clock.monotonicMs() - monotonic);
    if (elapsedMs > CONTENT_APPEND_MS_MAX) {
      throw new StoreError("unavailable", "the content was stored too long ago to be accepted");
    }
  };
}
