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
  /** News bring the next round forward, but not nearer to the last one than this; without it they do not. */
  readonly wokenIntervalMs?: number;
  /** From the start to the first round. Random where instances that start together shall not work together. */
  readonly firstDelayMs: number;
  /** The longest wait that a row of failed rounds leads to; without it, half a minute. */
  readonly backoffMsMax?: number;
  readonly onTrouble: (error: unknown) => void;
}

export interface PeriodicWorker {
  start(): void;
  /** There is news: see {@link PeriodicWork.wokenIntervalMs}. */
  wake(): void;
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
export function periodicWorker(work: PeriodicWork): PeriodicWorker {
  const { round, intervalMs, firstDelayMs, onTrouble } = work;
  const { wokenIntervalMs = intervalMs, backoffMsMax = BACKOFF_MS_MAX } = work;
  const stop = new AbortController();
  const stopping = stop.signal;
  const { sleep, wakeAll } = abortableSleep(stopping);
  let hasNews = false;
  let running: Promise<void> = Promise.resolve();

  /** Whether it came to its end. */
  const tryRound = async (): Promise<boolean> => {
    hasNews = false;
    try {
      await round({ stopping, sleep });
      return true;
    } catch (error) {
      const isAway = error instanceof ReadDatabaseError && error.failure === "unavailable";
      if (!isAway && error !== stopping.reason) onTrouble(error);
      return false;
    }
  };

  /** Between two rounds; what failed is not tried again sooner for news. */
  const rest = async (backoffMs: number): Promise<void> => {
    const restMs = Math.max(intervalMs, backoffMs);
    const atLeastMs = backoffMs > 0 ? restMs : Math.min(restMs, wokenIntervalMs);
    await sleep(atLeastMs);
    if (!hasNews && restMs > atLeastMs) await sleep(restMs - atLeastMs, { wakeable: true });
  };

  const run = async () => {
    await sleep(firstDelayMs);
    let backoffMs = 0;
    while (!stopping.aborted) {
      const isDone = await tryRound();
      backoffMs = isDone ? 0 : Math.min(backoffMsMax, Math.max(BACKOFF_MS_FIRST, backoffMs * 2));
      await rest(backoffMs);
    }
  };

  return {
    start() {
      running = run();
    },
    wake() {
      hasNews = true;
      wakeAll();
    },
    async stop() {
      stop.abort();
      await running;
    },
  };
}
