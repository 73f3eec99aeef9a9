import { join } from "node:path";
import type { Logger } from "pino";
import { projections } from "../../../projections/index.ts";
import { sqliteReadDatabases } from "../../adapters/sqlite/readModelDatabase.ts";
import { epochMs, MINUTE_MS } from "../../kernel/time.ts";
import { ReadDatabaseError } from "../../ports/readDatabase.ts";
import { lastVerifications } from "../../readModels/listReadModels.ts";
import type { VerifyResult } from "../../readModels/verifyReadModels.ts";
import type { Config } from "../config/config.ts";
import type { FromVerifyThread, ToVerifyThread, VerifyStart } from "./readModelVerifyThread.ts";

/** How often it is asked whether it is time. */
const LOOK_EVERY_MS = MINUTE_MS;
/** After a run that failed the next one waits so long, or for the interval where that is shorter. */
const RETRY_MS = 10 * MINUTE_MS;
/** How long a thread is given to remove what it has built. */
const STOP_MS_MAX = 5_000;

export interface ScheduledVerifyOptions {
  readonly start: VerifyStart;
  /** From the end of one run to the beginning of the next, over restarts too. */
  readonly intervalMs: number;
  readonly onResults: (results: readonly VerifyResult[]) => void;
  readonly onFailure: (reason: string) => void;
}

/** Something that works now and then until it is stopped. */
export interface Scheduled {
  stop(): Promise<void>;
}

/** Verifies as often as the settings say, and logs what is found: counts alone, for rows may name people. */
export function verifyOnSchedule(
  { verifyIntervalMs }: Pick<Config, "verifyIntervalMs">,
  logger: Logger,
  start: VerifyStart,
): Scheduled {
  if (verifyIntervalMs === 0) return { stop: async () => {} };
  return scheduleVerify({
    start,
    intervalMs: verifyIntervalMs,
    onResults(results) {
      for (const { name, differences, failure } of results) {
        if (failure !== null) logger.error({ readModel: name, reason: failure }, "read model not verified");
        if (differences > 0)
          logger.error({ readModel: name, differences }, "read model differs from the log");
      }
      const rows = results.reduce((sum, result) => sum + result.rows, 0);
      logger.info({ readModels: results.length, rows }, "read models were compared with the log");
    },
    onFailure: (reason) => logger.warn({ reason }, "read models could not be verified; it is tried again"),
  });
}

/**
 * Verifies the read models now and then, one run at a time, on a thread that is there for the run alone. Results
 * are kept in the catalog; while one is wanting, a run begins at once.
 */
export function scheduleVerify(options: ScheduledVerifyOptions): Scheduled {
  const { start, intervalMs, onResults, onFailure } = options;
  let notBefore = 0;
  let running: VerifyRun | undefined;
  let isStopping = false;
  const look = () => {
    if (running || Date.now() < Math.max(notBefore, dueAt(start.dataDir, intervalMs))) return;
    running = runVerify(start);
    void running.ended.then((message) => {
      running = undefined;
      if ("results" in message) onResults(message.results);
      else if (!isStopping) {
        notBefore = Date.now() + Math.min(RETRY_MS, intervalMs);
        onFailure(message.failed);
      }
    });
  };
  const timer = setInterval(look, Math.min(LOOK_EVERY_MS, intervalMs));
  look();
  return {
    async stop() {
      isStopping = true;
      clearInterval(timer);
      await running?.stop();
    },
  };
}

/** When the next run is to begin: its interval after the oldest of the results, at once where one is wanting. */
function dueAt(dataDir: string, intervalMs: number): number {
  try {
    const last = lastVerifications(sqliteReadDatabases, join(dataDir, "projections"));
    const finished = new Map(last.map(({ name, finishedAt }) => [name, epochMs(finishedAt)]));
    return Math.min(...projections.map(({ name }) => finished.get(name) ?? -intervalMs)) + intervalMs;
  } catch (error) {
    if (!(error instanceof ReadDatabaseError)) throw error;
    // The catalog is busy, or the disk full: it is asked again at the next look.
    return Infinity;
  }
}

interface VerifyRun {
  readonly ended: Promise<FromVerifyThread>;
  stop(): Promise<void>;
}

function runVerify(start: VerifyStart): VerifyRun {
  const thread = new Worker(new URL("./readModelVerifyThread.ts", import.meta.url).href);
  const { promise, resolve } = Promise.withResolvers<FromVerifyThread>();
  thread.onmessage = ({ data }: MessageEvent<FromVerifyThread>) => resolve(data);
  thread.onerror = (event) => resolve({ failed: event.message });
  const tell = (message: ToVerifyThread) => thread.postMessage(message);
  tell({ start });
  const ended = promise.finally(() => thread.terminate());
  return {
    ended,
    async stop() {
      tell({ stop: true });
      await Promise.race([ended, Bun.sleep(STOP_MS_MAX)]);
      thread.terminate();
    },
  };
}
