/** The result of a step. Throws the reason of `signal` as soon as that aborts; the step itself goes on. */
export function unlessAborted<Result>(signal: AbortSignal, step: Promise<Result>): Promise<Result> {
  const { promise, reject } = Promise.withResolvers<never>();
  if (signal.aborted) reject(signal.reason);
  signal.addEventListener("abort", () => reject(signal.reason), { once: true });
  return Promise.race([step, promise]);
}
