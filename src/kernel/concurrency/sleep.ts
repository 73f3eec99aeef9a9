import { startTimeout } from "./stallSafeTimeout.ts";

/** Waits `ms`, or until `signal` aborts. While it lasts, `sleepers` contains a function that ends it. */
export function sleep(ms: number, signal?: AbortSignal, sleepers?: Set<() => void>): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      sleepers?.delete(done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done);
    sleepers?.add(done);
  });
}

/**
 * The result of `work`, or what `late` returns or throws if `work` takes longer than `ms`. Input that has arrived by then
 * is read before.
 */
export async function settleWithin<Result>(
  ms: number,
  work: Result | Promise<Result>,
  late: () => Result,
): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const stopTimeout = startTimeout(ms, () => {
    try {
      resolve(late());
    } catch (error) {
      reject(error);
    }
  });
  try {
    return await Promise.race([work, promise]);
  } finally {
    stopTimeout();
  }
}

/** Yields to the event loop, so that timers and messages get their turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
