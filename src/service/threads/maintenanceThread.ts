import { projections } from "../../../projections/index.ts";
import { sqliteReadDatabases } from "../../adapters/sqlite/readModelDatabases.ts";
import { verifyLog } from "../../commands/audit/verify/verifyLog.ts";
import type {
  MaintenanceProgress,
  MaintenanceResult,
  MaintenanceTask,
} from "../../http/dashboard/maintenance/maintenanceTasks.ts";
import { messageOf } from "../../kernel/text/errorReason.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import type { EventStore, Position } from "../../ports/eventStore.ts";
import { temporaryPath } from "../../readModels/generations/temporaryDatabase.ts";
import { logReadFraction } from "../../readModels/logReadProgress.ts";
import { rebuildReadModels } from "../../readModels/rebuildReadModels.ts";
import { verifyReadModels } from "../../readModels/verifyReadModels.ts";
import { isEmbedded, openStoreOfService } from "../adapters/openStore.ts";
import type { Config } from "../config/config.ts";
import { readModelDirectory } from "../config/storeConfig.ts";
import { workBehindRequests } from "./threadPriority.ts";

/** The copy of the log that a thread opens. */
export interface LogCopy extends Pick<Config, "storeUrl" | "storeTimeoutMs" | "dataDir"> {
  readonly logId: string;
}

/** The thread's first message. */
export interface MaintenanceStart extends LogCopy {
  readonly task: MaintenanceTask;
  /** Whether it rests most of the time, because nobody waits for it. */
  readonly isPaced: boolean;
}

/** To the thread: begin, or cancel. */
export type ToMaintenanceThread = { readonly start: MaintenanceStart } | { readonly stop: true };

/** The thread's last message: what it found or did, or why it could not. */
export type MaintenanceEnd = { readonly result: MaintenanceResult } | { readonly failed: string };

/** From the thread: its progress, and its end. */
export type FromMaintenanceThread = MaintenanceEnd | { readonly progress: MaintenanceProgress };

declare const self: Worker;

/** How often to report progress. */
const REPORT_EVERY_MS = 200;
/** The share of time that a paced task works. The rest is for others, even on a machine with one core. */
const WORK_SHARE = 1 / 4;
/** Work shorter than this needs no rest yet. */
const WORK_MS_MIN = 20;

const stopped = new AbortController();
const post = (message: FromMaintenanceThread) => self.postMessage(message);

/** Reports the progress of a read now and then. */
function progressReporter(): (read: {
  readonly events: number;
  readonly from?: Position;
  readonly position: Position;
  readonly head: Position;
}) => void {
  const began = performance.now();
  let reportedAt = Number.NEGATIVE_INFINITY;
  return ({ events, ...reading }) => {
    const now = performance.now();
    if (now - reportedAt < REPORT_EVERY_MS) return;
    reportedAt = now;
    const eventsPerSecond = Math.round((events * SECOND_MS) / Math.max(1, now - began));
    post({ progress: { done: logReadFraction(reading), events, eventsPerSecond } });
  };
}

/** Rests after some work, long enough to keep work to its share of the time. */
function workPacer(): () => Promise<void> {
  let since = performance.now();
  return async () => {
    const workedMs = performance.now() - since;
    if (workedMs < WORK_MS_MIN) return;
    await Bun.sleep(workedMs * (1 / WORK_SHARE - 1));
    since = performance.now();
  };
}

async function work(store: EventStore, start: MaintenanceStart): Promise<MaintenanceResult> {
  const { logId, task, isPaced } = start;
  const databases = sqliteReadDatabases;
  const { signal } = stopped;
  const onProgress = progressReporter();
  const storage = { databases, directory: readModelDirectory(start), logId };
  if (task.kind === "verifyLog") {
    // Beside the read models, where the next start removes what a killed thread has left.
    const reading = { store, databases, temporaryPath: temporaryPath(storage, "log"), onProgress, signal };
    const isShared = !isEmbedded(start);
    return { kind: task.kind, log: await verifyLog({ ...reading, trusted: [], kept: null, isShared }) };
  }
  const wanted = projections.filter(({ name }) => task.readModels.includes(name));
  const reading = { ...storage, store, projections: wanted, onProgress, signal };
  if (task.kind === "rebuildReadModels")
    return { kind: task.kind, readModels: await rebuildReadModels({ ...reading, owner: false }) };
  const rest = isPaced ? { rest: workPacer() } : {};
  return { kind: task.kind, readModels: await verifyReadModels({ ...reading, ...rest }) };
}

async function run(start: MaintenanceStart): Promise<MaintenanceResult> {
  workBehindRequests();
  const { storeUrl, storeTimeoutMs, task } = start;
  // A verification opens a faulty log to report its faults.
  const evenIfFaulty = task.kind === "verifyLog";
  const store = await openStoreOfService({ storeUrl, storeTimeoutMs }, { evenIfFaulty });
  try {
    return await work(store, start);
  } finally {
    await store.close();
  }
}

self.onmessage = ({ data }: MessageEvent<ToMaintenanceThread>) => {
  if ("stop" in data) stopped.abort();
  else {
    run(data.start).then(
      (result) => post({ result }),
      (error: unknown) => post({ failed: stopped.signal.aborted ? "it was canceled" : messageOf(error) }),
    );
  }
};
