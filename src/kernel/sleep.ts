/**
 * Waits `ms`, or until `signal` aborts. With `sleepers` the wait is listed there while it lasts, as what ends it.
 */
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

/** What `work` settles with, or what `late` gives or throws when that takes more than `ms`. */
export async function settleWithin<Result>(
  ms: number,
  work: Result | Promise<Result>,
  late: () => Result,
): Promise<Result> {
  const { promise, resolve, reject } = Promise.withResolvers<Result>();
  const timer = setTimeout(() => {
    try {
      resolve(late());
    } catch (error) {
      reject(error);
    }
  }, ms);
  try {
    return await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Gives timers and messages their turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
