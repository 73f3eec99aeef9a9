/** The result of a step. Throws the reason of `signal` as soon as that aborts; the step itself goes on. */
export async function unlessAborted<Result>(signal: AbortSignal, step: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  const abort = () => reject(signal.reason);
  if (signal.aborted) abort();
  signal.addEventListener("abort", abort);
  try {
    return await Promise.race([step, promise]);
  } finally {
    signal.removeEventListener("abort", abort);
  }
}
