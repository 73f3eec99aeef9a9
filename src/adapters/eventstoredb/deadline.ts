import { settleWithin } from "../../kernel/sleep.ts";

/** A time of the monotonic clock, in ms, by which a call has settled. */
export type Deadline = number;

/** The first pause between two attempts, and the longest. */
const BACKOFF_MS_MIN = 10;
const BACKOFF_MS_MAX = 500;

/** The vendor did not answer in time. What it was asked may still happen. */
export class AttemptTimedOutError extends Error {
  override readonly name = "AttemptTimedOutError";
}

/** The deadline of a call that may take `timeoutMs` from now. */
export function deadlineIn(timeoutMs: number): Deadline {
  return performance.now() + timeoutMs;
}

/** What is left until `deadline`, in ms; 0 when it has passed. */
export function leftMs(deadline: Deadline): number {
  return Math.max(0, deadline - performance.now());
}

/** The pause after the attempt with this number (from 0), in ms, with jitter. */
export function backoffMs(attempt: number): number {
  return Math.min(BACKOFF_MS_MAX, BACKOFF_MS_MIN * 2 ** attempt) * (0.5 + Math.random() / 2);
}

/**
 * What `work` settles with, or {@link AttemptTimedOutError} after `timeMs`. We never trust the vendor's own
 * deadlines: some of its calls have none, and a stopped server would keep them pending.
 */
export function answerWithin<Result>(timeMs: number, work: Promise<Result>): Promise<Result> {
  return settleWithin(timeMs, work, () => {
    throw new AttemptTimedOutError(`no answer in ${Math.ceil(timeMs)} ms`);
  });
}
