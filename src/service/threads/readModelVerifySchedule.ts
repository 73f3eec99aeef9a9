import type { Logger } from "pino";
import { projections } from "../../../projections/index.ts";
import { sqliteReadDatabases } from "../../adapters/sqlite/readModelDatabases.ts";
import type { VerifiedReadModel } from "../../http/dashboard/maintenance/maintenanceTasks.ts";
import { epochMs, MINUTE_MS } from "../../kernel/time.ts";
import { ReadDatabaseError } from "../../ports/readDatabase.ts";
import { lastVerifications } from "../../readModels/listReadModels.ts";
import type { Config } from "../config/config.ts";
import { readModelDirectory } from "../config/storeConfig.ts";
import type { LogCopy } from "./maintenanceThread.ts";
import { type RunningMaintenance, startMaintenanceThread } from "./startMaintenanceThread.ts";

/** How often to check whether a run is due. */
const POLL_INTERVAL_MS = MINUTE_MS;
/** How long to wait after a failed run, or the interval if that is shorter. */
const RETRY_MS = 10 * MINUTE_MS;

/** Runs on a schedule until stopped. */
export interface Scheduled {
  stop(): Promise<void>;
}

/**
 * Verifies the read models as often as the settings say, also across restarts: one run at a time, each on its own
 * thread. Results are kept in the catalog; if one is missing, a run begins at once. Logs only counts, because rows may
 * name people.
 */
export function verifyOnSchedule(
  { verifyIntervalMs: intervalMs }: Pick<Config, "verifyIntervalMs">,
  logger: Pick<Logger, "error" | "info" | "warn">,
  start: LogCopy,
): Scheduled {
  if (intervalMs === 0) return { stop: async () => {} };
  let notBefore = 0;
  let running: RunningMaintenance | undefined;
  const readModels = projections.map(({ name }) => name);
  const task = { kind: "verifyReadModels", readModels } as const;
  let isStopping = false;
  const look = () => {
    if (running || Date.now() < Math.max(notBefore, dueAt(start.dataDir, intervalMs))) return;
    running = startMaintenanceThread({ ...start, task, isPaced: true });
    void running.ended.then((ended) => {
      running = undefined;
      if ("result" in ended) {
        if (ended.result.kind === "verifyReadModels") logResults(logger, ended.result.readModels);
      } else if (!isStopping) {
        notBefore = Date.now() + Math.min(RETRY_MS, intervalMs);
        const reason = ended.failed;
        logger.warn({ reason }, "read models could not be verified; the next run tries again");
      }
    });
  };
  const timer = setInterval(look, Math.min(POLL_INTERVAL_MS, intervalMs));
  look();
  return {
    async stop() {
      isStopping = true;
      clearInterval(timer);
      await running?.stop();
    },
  };
}

function logResults(logger: Pick<Logger, "error" | "info">, results: readonly VerifiedReadModel[]): void {
  for (const { name, differences, failure } of results) {
    if (failure !== null) logger.error({ readModel: name, reason: failure }, "read model not verified");
    if (differences > 0) logger.error({ readModel: name, differences }, "read model differs from the log");
  }
  const rows = results.reduce((sum, result) => sum + result.rows, 0);
  logger.info({ readModels: results.length, rows }, "read models were compared with the log");
}

/** When the next run is due: an interval after the oldest result, or at once if one is missing. */
function dueAt(dataDir: string, intervalMs: number): number {
  try {
    const last = lastVerifications(sqliteReadDatabases, readModelDirectory({ dataDir }));
    const finished = new Map(last.map(({ name, finishedAt }) => [name, epochMs(finishedAt)]));
    return Math.min(...projections.map(({ name }) => finished.get(name) ?? -intervalMs)) + intervalMs;
  } catch (error) {
    if (!(error instanceof ReadDatabaseError)) throw error;
    // The catalog is busy, or the disk is full: look again next time.
    return Infinity;
  }
}
