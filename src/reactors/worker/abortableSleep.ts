/** Pauses of a worker, which all end when it stops. */
export interface Pauses {
  /** Sleeps for `ms`; less when the worker stops, or is woken and lets itself be. */
  pause(ms: number, options?: { readonly wakeable: boolean }): Promise<void>;
  wakeAll(): void;
}

export function pauses(stopping: AbortSignal): Pauses {
  const sleepers = new Set<() => void>();
  return {
    pause(ms, { wakeable } = { wakeable: false }) {
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
