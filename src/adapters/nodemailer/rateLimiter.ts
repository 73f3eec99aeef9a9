import { SECOND_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import { waitIn } from "./semaphore.ts";

/** How much delay of a turn later ones may make up for, because timers are no more exact than this. */
const CATCH_UP_MS = 10;

/** Spaces turns evenly, first come, first served. */
export interface RateLimiter {
  /** How long it takes to serve those who wait; 0 if nobody does. */
  readonly backlogMs: number;
  /** Waits for a turn. False when `signal` aborts first, or when the limiter is closed. */
  turn(signal: AbortSignal): Promise<boolean>;
  /** Turns away waiting callers, and all later ones. */
  close(): void;
}

/**
 * At most `turnsPerSecondMax` turns in any one second; 0 = no limit. Turns are spaced evenly instead of in a burst at
 * the start of each second, because relays measure over shorter times than they say.
 */
export function createRateLimiter(turnsPerSecondMax: number, clock: Clock): RateLimiter {
  const waiting = new Set<(granted: boolean) => void>();
  // The interval includes the catch-up, so that N + 1 turns always span a whole second.
  const intervalMs = (SECOND_MS + CATCH_UP_MS) / turnsPerSecondMax;
  let nextAt = Number.NEGATIVE_INFINITY;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let closed = false;

  function tryTurn(): boolean {
    const now = clock.monotonicMs();
    if (now < nextAt) return false;
    nextAt = Math.max(nextAt, now - CATCH_UP_MS) + intervalMs;
    return true;
  }

  function serve(): void {
    timer = undefined;
    for (const settle of waiting) {
      if (!tryTurn()) break;
      settle(true);
    }
    if (waiting.size > 0) arm();
  }

  function arm(): void {
    timer ??= setTimeout(serve, Math.max(1, Math.ceil(nextAt - clock.monotonicMs())));
  }

  return {
    get backlogMs() {
      return waiting.size === 0 ? 0 : waiting.size * intervalMs;
    },
    turn(signal) {
      if (signal.aborted || closed) return Promise.resolve(false);
      if (turnsPerSecondMax === 0 || (waiting.size === 0 && tryTurn())) return Promise.resolve(true);
      arm();
      return waitIn(waiting, signal);
    },
    close() {
      closed = true;
      clearTimeout(timer);
      for (const settle of waiting) settle(false);
    },
  };
}
