import { SECOND_MS } from "../../kernel/time.ts";
import { ReadDatabaseError } from "../../ports/readDatabase.ts";
import { abortableSleep } from "./abortableSleep.ts";

/** What a round needs so that it can end early. */
export interface Round {
  /** Aborts when the worker is to stop. */
  readonly stopping: AbortSignal;
  /** Sleeps for `ms`, or until the worker is to stop. */
  sleep(ms: number): Promise<void>;
}

/** What a worker does again and again, and how often. */
export interface PeriodicWork {
  /** Looks for what is to be done, and does it, repeatably. What it throws ends this round and is met by a back-off. */
  readonly round: (round: Round) => Promise<void>;
  /** From the end of one round to the beginning of the next. */
  readonly intervalMs: number;
  /** From the start to the first round. Random where instances that start together shall not work together. */
  readonly firstDelayMs: number;
  readonly onTrouble: (error: unknown) => void;
}

export interface PeriodicWorker {
  start(): void;
  /** Settles when the round under way has ended. No round begins after it. */
  stop(): Promise<void>;
}

/** After a round that failed the next one begins no sooner than this, and twice as late after each further one. */
const BACKOFF_MS_FIRST = 250;
const BACKOFF_MS_MAX = 30 * SECOND_MS;

/**
 * Works in rounds until it is stopped. A read model that is not there at the moment is nothing to report: whoever
 * keeps it does so.
 */
export function periodicWorker({ round, intervalMs, firstDelayMs, onTrouble }: PeriodicWork): PeriodicWorker {
  const stop = new AbortController();
  const stopping = stop.signal;
  const { sleep } = abortableSleep(stopping);
  let running: Promise<void> = Promise.resolve();

  /** Whether it came to its end. */
  const tryRound = async (): Promise<boolean> => {
    try {
      await round({ stopping, sleep });
      return true;
    } catch (error) {
      const isAway = error instanceof ReadDatabaseError && error.failure === "unavailable";
      if (!isAway && error !== stopping.reason) onTrouble(error);
      return false;
    }
  };

  const run = async () => {
    await sleep(firstDelayMs);
    let backoffMs = 0;
    while (!stopping.aborted) {
      const isDone = await tryRound();
      backoffMs = isDone ? 0 : Math.min(BACKOFF_MS_MAX, Math.max(BACKOFF_MS_FIRST, backoffMs * 2));
      await sleep(Math.max(intervalMs, backoffMs));
    }
  };

  return {
    start() {
      running = run();
    },
    async stop() {
      stop.abort();
      await running;
    },
  };
}
