/** How often overdue answers are looked for: one timer for all requests costs less than one for each. */
const SWEEP_MS = 100;

interface Waiting {
  readonly deadline: number;
  readonly giveUp: () => void;
}

/** Gives every answer the same time. */
export interface RequestTimeouts {
  /** `answer`, or what `late` makes when the time is over first. */
  within<Answer>(answer: Promise<Answer>, late: () => Answer): Promise<Answer>;
  stop(): void;
}

export function makeRequestTimeouts(timeoutMs: number): RequestTimeouts {
  const waiting = new Set<Waiting>();
  const timer = setInterval(() => {
    const now = performance.now();
    // In the order in which they came in, so the first that still has time ends the walk.
    for (const one of waiting) {
      if (one.deadline > now) return;
      one.giveUp();
    }
  }, SWEEP_MS);
  timer.unref();
  return {
    within(answer, late) {
      return new Promise((resolve, reject) => {
        const one: Waiting = {
          deadline: performance.now() + timeoutMs,
          giveUp() {
            waiting.delete(one);
            resolve(late());
          },
        };
        waiting.add(one);
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
