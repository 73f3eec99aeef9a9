import { InFlightSet } from "../../kernel/shortLivedSetAndMap.ts";

/** How often to look for overdue answers: one timer for all costs less than one per request. */
const SWEEP_MS = 100;

interface Waiting {
  readonly deadline: number;
  readonly giveUp: () => void;
}

/** Gives every answer the same time limit. */
export interface RequestTimeouts {
  /** `answer`, or the result of `late` if the time runs out first. */
  within<Answer>(answer: Promise<Answer>, late: () => Answer): Promise<Answer>;
  stop(): void;
}

export function createRequestTimeouts(timeoutMs: number): RequestTimeouts {
  const waiting = new InFlightSet<Waiting>();
  const timer = setInterval(() => {
    const now = performance.now();
    for (const { deadline, giveUp } of waiting.values()) if (deadline <= now) giveUp();
  }, SWEEP_MS);
  timer.unref();
  return {
    within(answer, late) {
      return new Promise((resolve, reject) => {
        const one = waiting.add({
          deadline: performance.now() + timeoutMs,
          giveUp() {
            waiting.delete(one);
            resolve(late());
          },
        });
        answer.then(
          (value) => {
            waiting.delete(one);
            resolve(value);
          },
          (error) => {
            waiting.delete(one);
            reject(error);
          },
        );
      });
    },
    stop: () => clearInterval(timer),
  };
}
