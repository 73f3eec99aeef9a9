import type { Logger } from "pino";
import type {
  EndedTask,
  Maintenance,
  MaintenanceKind,
  MaintenanceTask,
  RunningTask,
} from "../../http/dashboard/maintenance/maintenanceTasks.ts";
import type { Clock } from "../../ports/clock.ts";
import type { LogCopy, MaintenanceEnd } from "./maintenanceThread.ts";
import { type RunningMaintenance, startMaintenanceThread } from "./startMaintenanceThread.ts";

/**
 * The maintenance that people start on the dashboard, until the service stops. Runs one task at a time, on its own
 * thread, and keeps the last result of each kind in memory.
 */
export function dashboardMaintenance(
  copy: LogCopy,
  { logger, clock }: { readonly logger: Logger; readonly clock: Clock },
): Maintenance & { stop(): Promise<void> } {
  const last = new Map<MaintenanceKind, EndedTask>();
  let running: { task: RunningTask; readonly run: RunningMaintenance } | null = null;
  let isStopping = false;
  let changes = 0;

  const end = (task: RunningTask, ended: MaintenanceEnd) => {
    const { kind, readModels, startedAt } = task;
    const outcome = "result" in ended ? ended.result : ended;
    last.set(kind, { kind, readModels, startedAt, endedAt: clock.now(), outcome });
    running = null;
    changes += 1;
    // Log no rows and no stream names: only the person who asked may see them.
    logger.info(
      { task: kind, failed: "failed" in ended ? ended.failed : undefined },
      "maintenance has ended",
    );
  };
  const begin = (task: MaintenanceTask): boolean => {
    if (running !== null || isStopping) return false;
    const begun: RunningTask = { ...task, startedAt: clock.now(), done: 0, events: 0, eventsPerSecond: 0 };
    const run = startMaintenanceThread({ ...copy, task, isPaced: false }, (progress) => {
      if (running?.run !== run) return;
      running.task = { ...running.task, ...progress };
      changes += 1;
    });
    running = { task: begun, run };
    changes += 1;
    logger.info({ task: task.kind, readModels: task.readModels }, "maintenance has begun");
    void run.ended.then((ended) => end(begun, ended));
    return true;
  };
  return {
    running: () => running?.task ?? null,
    last: (kind) => last.get(kind) ?? null,
    start: begin,
    async cancel() {
      await running?.run.stop();
    },
    version: () => String(changes),
    async stop() {
      isStopping = true;
      await running?.run.stop();
    },
  };
}
