import type { Clock } from "../../ports/clock.ts";

/** The machine's own clocks. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonicMs: () => performance.now(),
};
