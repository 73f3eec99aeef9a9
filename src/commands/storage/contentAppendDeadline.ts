import { MINUTE_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import { StoreError } from "../../ports/eventStore.ts";

/**
 * A request that begins to store content starts the append that refers to it within this time, or never. The sweeper
 * leaves content alone for longer (`CONTENT_SWEEP_AGE_MS`).
 */
const CONTENT_APPEND_MS_MAX = 10 * MINUTE_MS;

/**
 * Starts the deadline of a request that is about to store content. Call the returned function right before the append:
 * it throws `StoreError` (`unavailable`) if the content may have been swept meanwhile, for example while the process was
 * suspended. It reads both clocks: suspending the machine stops one, and a time service moves the other.
 */
export function contentAppendDeadline(clock: Clock): () => void {
  const [wall, monotonic] = [clock.now(), clock.monotonicMs()];
  return () => {
    const elapsedMs = Math.max(clock.now() - wall, clock.monotonicMs() - monotonic);
    if (elapsedMs > CONTENT_APPEND_MS_MAX) {
      throw new StoreError("unavailable", "the content was stored too long ago to be accepted");
    }
  };
}
