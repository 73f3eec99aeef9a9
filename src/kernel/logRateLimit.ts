/** Calls back after `delayMs`; need not keep the process alive. */
export type After = (delayMs: number, act: () => void) => void;

/** What is still to be called back. A limit has one window at a time, so these are few. */
const waiting = new Set<() => void>();

/** Does not keep the process alive. */
const afterInBackground: After = (delayMs, act) => {
  const end = () => {
    if (waiting.delete(end)) act();
  };
  waiting.add(end);
  setTimeout(end, delayMs).unref();
};

/** Calls back at once. When the process ends, the line that counts what was omitted would be lost. */
export function endWindows(): void {
  for (const end of waiting) end();
}

interface LogRateLimitOptions {
  /** The lines of one window. */
  readonly linesMax: number;
  readonly windowMs: number;
  readonly after?: After | undefined;
  /** Called at the end of a window that had more. */
  readonly logOmitted: (omitted: number) => void;
}

/** Whether one more line may be written; at the end of each window it reports how many were omitted. */
export function logRateLimit({
  linesMax,
  windowMs,
  after = afterInBackground,
  logOmitted,
}: LogRateLimitOptions): () => boolean {
  let taken = 0;
  return () => {
    if (taken === 0) {
      after(windowMs, () => {
        const omitted = taken - linesMax;
        taken = 0;
        if (omitted > 0) logOmitted(omitted);
      });
    }
    taken += 1;
    return taken <= linesMax;
  };
}
