import { sleep } from "../../kernel/concurrency/sleep.ts";

/** Sleeps that end as soon as the worker stops. */
export interface AbortableSleep {
  /** Sleeps for `ms`, or until the worker stops; if `wakeable`, also until it is woken. */
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
