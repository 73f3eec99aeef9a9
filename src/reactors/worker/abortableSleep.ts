/** Sleeps of a worker, which all end when it stops. */
export interface AbortableSleep {
  /** Sleeps for `ms`; less when the worker stops, or when it is woken and is `wakeable`. */
  sleep(ms: number, options?: { readonly wakeable: boolean }): Promise<void>;
  wakeAll(): void;
}

export function abortableSleep(stopping: AbortSignal): AbortableSleep {
  const sleepers = new Set<() => void>();
  return {
    sleep(ms, { wakeable } = { wakeable: false }) {
      if (stopping.aborted) return Promise.resolve();
      return new Promise((resolve) => {
        const done = () => {
          clearTimeout(timer);
          sleepers.delete(done);
          stopping.removeEventListener("abort", done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        if (wakeable) sleepers.add(done);
        stopping.addEventListener("abort", done);
      });
    },
    wakeAll() {
      for (const sleeper of [...sleepers]) sleeper();
    },
  };
}
