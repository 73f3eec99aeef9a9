import { sleep } from "../../kernel/sleep.ts";

/** Sleeps of a worker, which all end when it stops. */
export interface AbortableSleep {
  /** Sleeps for `ms`; less when the worker stops, or when it is woken and is `wakeable`. */
  sleep(ms: number, options?: { readonly wakeable: boolean }): Promise<void>;
  wakeAll(): void;
}

export function abortableSleep(stopping: AbortSignal): AbortableSleep {
  const sleepers = new Set<() => void>();
  return {
    sleep: (ms, { wakeable } = { wakeable: false }) => sleep(ms, stopping, wakeable ? sleepers : undefined),
    wakeAll() {
      for (const wake of [...sleepers]) wake();
    },
  };
}
