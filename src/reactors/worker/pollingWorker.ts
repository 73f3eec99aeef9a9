import { settleWithin } from "../../kernel/concurrency/sleep.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { EpochMs } from "../../kernel/time.ts";
import { abortableSleep } from "./abortableSleep.ts";
import { rowBackoff } from "./rowBackoff.ts";
import { tryReadRows } from "./tryReadRows.ts";
import { type ActingWorker, workerCommandContext } from "./workerCommandContext.ts";

/** Something to do, according to a read model. */
interface Row {
  readonly id: string;
  readonly workspaceId: string;
}

/** What a worker of rows does. */
export interface PollingWork extends ActingWorker {
  readonly concurrencyMax: number;
  /** In [0, 1). */
  readonly random: () => number;
  /** What is to be done at `now`, without the rows in hand or resting. May throw `ReadDatabaseError`. */
  readonly find: (now: EpochMs, without: readonly string[], limit: number) => readonly Row[];
  /**
   * Handles one row; must be repeatable, because another instance may be handling it too, and the read model may
   * still show a row that is done. If it throws, the row is retried after ever longer rests. `stopping` aborts when the
   * worker stops.
   */
  readonly act: (id: string, context: CommandContext, stopping: AbortSignal) => Promise<void>;
  readonly onTrouble: (error: unknown, id: string) => void;
}

/** Runs until it is stopped. */
export interface PollingWorker {
  start(): void;
  /** The read model has moved: look sooner. */
  wake(): void;
  /** Begins nothing more, and waits up to `graceMs` for rows in hand. */
  stop(graceMs: number): Promise<void>;
}

/** Rows found in one look and taken at random, so instances seldom collide. */
const CANDIDATES_MAX = 100;
/** How often to look for rows, because time alone can make them due. */
const POLL_INTERVAL_MS = 1_000;
/** The shortest time between two looks, however much news the read model has. */
const LOOK_MS_MIN = 25;
/** How long the worker itself rests after a fault, which may not be the row's own. */
const FAULT_PAUSE_MS = 250;

/** Works through the rows of a read model, which only says where to look; the streams decide. */
export function pollingWorker(work: PollingWork): PollingWorker {
  const { clock } = work;
  const stopping = new AbortController();
  const { sleep, wakeAll } = abortableSleep(stopping.signal);
  const rests = rowBackoff(clock);
  let candidates: Row[] = [];
  let isStale = true;
  let running: Promise<unknown> = Promise.resolve();

  const refill = () => {
    const rows =
      tryReadRows(() => work.find(work.clock.now(), rests.busy(), CANDIDATES_MAX), work.onTrouble) ?? [];
    candidates = [...rows];
    // A full page may have more behind it.
    isStale = rows.length >= CANDIDATES_MAX;
  };

  const take = (): Row | null => {
    if (candidates.length === 0 && isStale) refill();
    while (candidates.length > 0) {
      const [row] = candidates.splice(Math.floor(work.random() * candidates.length), 1);
      if (row && rests.isFree(row.id)) return row;
    }
    return null;
  };

  const handle = async ({ id, workspaceId }: Row) => {
    rests.begin(id);
    try {
      await work.act(id, workerCommandContext(work, workspaceId), stopping.signal);
      rests.done(id);
    } catch (error) {
      rests.failed(id);
      // What ends because of the stop is begun again after the next start.
      if (!stopping.signal.aborted) work.onTrouble(error, id);
      await sleep(FAULT_PAUSE_MS);
    }
  };

  const loop = async () => {
    while (!stopping.signal.aborted) {
      const row = take();
      if (row) await handle(row);
      else {
        await sleep(LOOK_MS_MIN);
        if (!isStale) await sleep(POLL_INTERVAL_MS, { wakeable: true });
        isStale = true;
      }
    }
  };

  return {
    start() {
      running = Promise.all(Array.from({ length: work.concurrencyMax }, loop));
    },
    wake() {
      isStale = true;
      wakeAll();
    },
    async stop(graceMs) {
      stopping.abort();
      await settleWithin(graceMs, running, () => {});
    },
  };
}
