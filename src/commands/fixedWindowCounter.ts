import { LRUCache } from "lru-cache";
import { lazy } from "../kernel/lazy.ts";

interface Window {
  readonly since: number;
  events: number;
}

/** What one key has used of its window. */
interface Use {
  readonly events: number;
  /** How long its window still lasts, in ms; more than a whole one if the caller's clock went back. */
  readonly restMs: number;
}

/**
 * Counts events by key, in windows of fixed length that begin with a key's first event. Callers give the time in ms, by
 * their own clock. Among more than `keysMax` keys, those whose windows began first are forgotten.
 */
export class FixedWindowCounter {
  // Made at the first event, because it takes its memory at once.
  private readonly windows: () => LRUCache<string, Window>;

  constructor(
    private readonly windowMs: number,
    keysMax: number,
  ) {
    this.windows = lazy(() => new LRUCache({ max: keysMax }));
  }

  /** Counts an event, and returns the use with it. */
  count(key: string, now: number): Use {
    const window = this.current(key, now) ?? { since: now, events: 0 };
    if (window.events === 0) this.windows().set(key, window);
    window.events += 1;
    return this.use(window, now);
  }

  /** The use so far. */
  read(key: string, now: number): Use {
    return this.use(this.current(key, now) ?? { since: now, events: 0 }, now);
  }

  private current(key: string, now: number): Window | null {
    // Not `get`, which would make a key that goes on stay.
    const window = this.windows().peek(key);
    return window !== undefined && now - window.since < this.windowMs ? window : null;
  }

  private use({ since, events }: Window, now: number): Use {
    return { events, restMs: this.windowMs - (now - since) };
  }
}
