import { InFlightSet } from "../../kernel/shortLivedCollections.ts";

/** How often to look for overdue answers: one timer for all costs less than one per request. */
const SWEEP_MS = 100;

interface Waiting {
  /** When the time would run out without any waiting for the client, on the monotonic clock in ms. */
  readonly deadline: number;
  readonly waitedMs: WaitedMs;
  readonly giveUp: () => void;
}

/** How long we have waited for the client up to `now`. A body that is long on its way has bounds of its own. */
type WaitedMs = (now: number) => number;

/** Gives the work for every answer the same time limit. */
export interface AnswerTimeouts {
  /** `answer`, or the result of `late` if the time runs out first; `waitedMs` of it do not count. */
  within<Answer>(answer: Promise<Answer>, late: () => Answer, waitedMs?: WaitedMs): Promise<Answer>;
}

export function createAnswerTimeouts(timeoutMs: number): AnswerTimeouts {
  const waiting = new InFlightSet<Waiting>();
  const timer = setInterval(() => {
    const now = performance.now();
    for (const { deadline, waitedMs, giveUp } of waiting.values())
      if (deadline + waitedMs(now) <= now) giveUp();
  }, SWEEP_MS);
  timer.unref();
  return {
    within(answer, late, waitedMs = () => 0) {
      return new Promise((resolve, reject) => {
        const one = waiting.add({
          deadline: performance.now() + timeoutMs,
          waitedMs,
          giveUp() {
            waiting.delete(one);
            resolve(late());
          },
        });
        answer.finally(() => waiting.delete(one)).then(resolve, reject);
      });
    },
  };
}
