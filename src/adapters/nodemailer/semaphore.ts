/** A fixed number of permits, granted in the order of the requests. */
export interface Semaphore {
  /** How many permits are taken now. */
  readonly taken: number;
  /** Waits for a permit. False when `signal` aborts first, or when the semaphore is closed. */
  take(signal: AbortSignal): Promise<boolean>;
  /** Takes a permit if one is free now. Never overtakes waiting callers. */
  tryTake(): boolean;
  give(): void;
  /** Turns away waiting callers, and all later ones. */
  close(): void;
}

export function createSemaphore(permits: number): Semaphore {
  let free = permits;
  let closed = false;
  const waiting = new Set<(granted: boolean) => void>();

  function tryTake(): boolean {
    if (closed || free === 0) return false;
    free -= 1;
    return true;
  }

  return {
    get taken() {
      return permits - free;
    },
    tryTake,
    take(signal) {
      if (signal.aborted || closed) return Promise.resolve(false);
      if (tryTake()) return Promise.resolve(true);
      return waitIn(waiting, signal);
    },
    give() {
      // A returned permit goes straight to the first in line, so `free` stays 0 while anyone waits.
      const [first] = waiting;
      if (first) first(true);
      else free += 1;
    },
    close() {
      closed = true;
      for (const settle of waiting) settle(false);
    },
  };
}

/** Joins the end of a queue. The queue's server calls the entry, which then leaves it. */
export function waitIn(line: Set<(granted: boolean) => void>, signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (granted: boolean): void => {
      line.delete(settle);
      signal.removeEventListener("abort", abandon);
      resolve(granted);
    };
    const abandon = (): void => settle(false);
    signal.addEventListener("abort", abandon);
    line.add(settle);
  });
}
