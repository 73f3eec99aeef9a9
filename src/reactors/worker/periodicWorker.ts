import { SECOND_MS } from "../../kernel/time.ts";
import { ReadDatabaseError } from "../../ports/readDatabase.ts";
import { abortableSleep } from "./abortableSleep.ts";

/** What a round needs to be able to end early. */
export interface Round {
  /** Aborts when the worker stops. */
  readonly stopping: AbortSignal;
  /** Sleeps for `ms`, or until the worker stops. */
  sleep(ms: number): Promise<void>;
}

/** What a worker repeats, and how often. */
export interface PeriodicWork {
  /** Finds work and does it; must be repeatable. If it throws, the round ends and the worker backs off. */
  readonly round: (round: Round) => Promise<void>;
  /** From the end of one round to the start of the next. */
  readonly intervalMs: number;
  /** How soon after the last round news may start the next; without it, news changes nothing. */
  readonly wokenIntervalMs?: number;
  /** From the start to the first round. Random where instances that start together should not work together. */
  readonly firstDelayMs: number;
  /** The longest back-off after rounds that fail in a row; by default half a minute. */
  readonly backoffMsMax?: number;
  readonly onTrouble: (error: unknown) => void;
}

export interface PeriodicWorker {
  start(): void;
  /** There is news: see {@link PeriodicWork.wokenIntervalMs}. */
  wake(): void;
  /** Begins no further round, and settles when the current one has ended. */
  stop(): Promise<void>;
}

/** The back-off after a failed round; doubles after each further failure. */
const BACKOFF_MS_FIRST = 250;
const BACKOFF_MS_MAX = 30 * SECOND_MS;

/** Works in rounds until stopped. Does not report a read model that is unavailable: the thread that keeps it does. */
export function periodicWorker(work: PeriodicWork): PeriodicWorker {
  const { round, intervalMs, firstDelayMs, onTrouble } = work;
  const { wokenIntervalMs = intervalMs, backoffMsMax = BACKOFF_MS_MAX } = work;
  const stop = new AbortController();
  const stopping = stop.signal;
  const { sleep, wakeAll } = abortableSleep(stopping);
  let hasNews = false;
  let running: Promise<void> = Promise.resolve();

  /** Returns whether the round completed. */
  const tryRound = async (): Promise<boolean> => {
    hasNews = false;
    try {
      await round({ stopping, sleep });
      return true;
    } catch (error) {
      const isAway = error instanceof ReadDatabaseError && error.failure === "unavailable";
      // What ends because of the stop is begun again after the next start.
      if (!isAway && !stopping.aborted) onTrouble(error);
      return false;
    }
  };

  /** The pause between two rounds. News does not shorten it after a failure. */
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
