import { settleWithin } from "../../kernel/concurrency/sleep.ts";

/** The time by which a call must settle, in ms on the monotonic clock. */
export type Deadline = number;

/** The first and the longest pause between two attempts. */
const BACKOFF_MS_MIN = 10;
const BACKOFF_MS_MAX = 500;

/** The vendor's client did not answer in time. The request may still take effect. */
export class AttemptTimedOutError extends Error {
  override readonly name = "AttemptTimedOutError";
}

export function deadlineIn(timeoutMs: number): Deadline {
  return performance.now() + timeoutMs;
}

/** The time left until `deadline`, in ms; 0 if it has passed. */
export function leftMs(deadline: Deadline): number {
  return Math.max(0, deadline - performance.now());
}

/** The pause after the attempt with this number (from 0), in ms, with jitter. */
export function backoffMs(attempt: number): number {
  return Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** attempt) * (0.5 + Math.random() / 2);
}

/**
 * The result of `work`, or {@link AttemptTimedOutError} after `timeMs`. We don't trust the vendor's deadlines: some of
 * its calls have none, and a stopped server would leave them pending.
 */
export function answerWithin<Result>(timeMs: number, work: Promise<Result>): Promise<Result> {
  return settleWithin(timeMs, work, () => {
    throw new AttemptTimedOutError(`no answer in ${Math.ceil(timeMs)} ms`);
  });
}
