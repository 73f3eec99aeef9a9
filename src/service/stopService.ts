import type { DirectoryLock } from "../adapters/sqlite/directoryLock.ts";
import type { Dependencies } from "../commands/dependencies.ts";
import { SERVICE_STOPPING } from "../http/server/problem.ts";
import { settleWithin } from "../kernel/concurrency/sleep.ts";
import type { EventStore } from "../ports/eventStore.ts";
import type { Listeners } from "./openListeners.ts";
import { headIfAnswering } from "./status/headIfAnswering.ts";

interface Stopped {
  stop(): unknown;
}

/** What a running service has to stop. */
interface ServiceParts {
  readonly listeners: Listeners;
  readonly deps: Pick<Dependencies, "htmlToText">;
  readonly store: EventStore;
  readonly lock: DirectoryLock;
  readonly control: { close(): Promise<void> };
  readonly dashboard: Stopped;
  readonly freezeWatch: Stopped;
  /** Verifications and rebuilds. */
  readonly maintenance: readonly Stopped[];
  readonly readModels: Stopped;
  readonly readers: { close(): void };
  stopWorkers(): Promise<unknown>;
  /** Returns to the log what is in reserve of the daily limits. */
  stopQuota(): Promise<void>;
  /** Whether no request and no delivery is in flight. */
  isIdle(): boolean;
  /** Takes the service out of the registry of services. */
  leave(): Promise<void>;
}

/** The share of the drain time in which bodies may still arrive; the rest is left for their answers. */
const SHARE_OF_ARRIVING = 1 / 2;
/** When each step is abandoned, in ms after the drain time. They fit into Kubernetes' 30 s with the default of 25 s. */
const DRAIN_ENDS_MS = 500;
const JOBS_END_MS = 2_000;
const LEAVING_ENDS_MS = 3_000;
const CLOSING_ENDS_MS = 4_000;
/** If the log has not answered by then it is away, and a stop appends nothing more: the log is as after a crash. */
const LOG_ANSWERS_MS_MAX = 500;
/** How long the jobs may then take, whose calls of the log end only by its time limit. */
const JOBS_WITHOUT_LOG_MS_MAX = 500;

interface StopOptions {
  readonly drainTimeoutMs: number;
  /** Called for each step that is abandoned; it may still be under way until the process ends. */
  readonly onLate: (step: string) => void;
}

/**
 * Stops accepting, finishes what is in flight within `drainTimeoutMs`, and closes. Ends at most 4 s after that. A part
 * that fails to stop keeps no other from it; then throws the first error.
 */
export function stopService(parts: ServiceParts, { drainTimeoutMs, onLate }: StopOptions): Promise<void> {
  const { listeners, deps, store, lock, readers } = parts;
  let isDrained = false;
  let isLogAway = false;
  let areJobsStopped = false;
  const drain = async () => {
    const refuseSlow = () => listeners.refuseArriving(SERVICE_STOPPING);
    const timers = [
      setTimeout(refuseSlow, drainTimeoutMs * SHARE_OF_ARRIVING),
      setTimeout(() => listeners.kill(), drainTimeoutMs),
    ];
    const { dashboard, freezeWatch } = parts;
    await runAll([
      () => dashboard.stop(),
      () => listeners.stop(),
      () => parts.stopWorkers(),
      () => freezeWatch.stop(),
    ]);
    timers.forEach(clearTimeout);
    isDrained = true;
  };
  const askLog = async () => {
    isLogAway = (await headIfAnswering(store, LOG_ANSWERS_MS_MAX)) === null;
    if (isLogAway) onLate("log");
  };
  const stopJobs = async () => {
    const jobs = [...parts.maintenance, parts.readModels];
    await runAll([
      () => deps.htmlToText.close(),
      () => !isLogAway && parts.stopQuota(),
      ...jobs.map((job) => () => job.stop()),
    ]);
    areJobsStopped = true;
  };
  const stopJobsInTime = () =>
    isLogAway ? settleWithin(JOBS_WITHOUT_LOG_MS_MAX, stopJobs(), () => {}) : stopJobs();
  // What outlives its step may still write and send until the process ends, so the lock stays until then.
  const isIdle = () => isDrained && areJobsStopped && parts.isIdle();
  const leave = () => !isLogAway && isIdle() && parts.leave();
  const close = async () => {
    await store.close();
    if (isIdle()) lock.release();
  };
  return stopInSteps(
    [
      { name: "control port", endsMsAfterDrain: DRAIN_ENDS_MS, run: () => parts.control.close() },
      { name: "drain", endsMsAfterDrain: DRAIN_ENDS_MS, run: drain },
      { name: "log", endsMsAfterDrain: JOBS_END_MS, run: askLog },
      { name: "background jobs", endsMsAfterDrain: JOBS_END_MS, run: stopJobsInTime },
      { name: "registry", endsMsAfterDrain: LEAVING_ENDS_MS, run: leave },
      { name: "readers", endsMsAfterDrain: CLOSING_ENDS_MS, run: () => readers.close() },
      { name: "store", endsMsAfterDrain: CLOSING_ENDS_MS, run: close },
    ],
    { drainTimeoutMs, onLate },
  );
}

interface StopStep {
  readonly name: string;
  /** When it is abandoned, counted from the end of the drain time. */
  readonly endsMsAfterDrain: number;
  readonly run: () => unknown;
}

/** Starts all of them, and waits for all. Throws the first error. */
async function runAll(works: readonly (() => unknown)[]): Promise<void> {
  const ends = await Promise.allSettled(works.map(async (work) => work()));
  const failed = ends.find(({ status }) => status === "rejected") as PromiseRejectedResult | undefined;
  if (failed !== undefined) throw failed.reason;
}

/**
 * Runs the steps in order. One that takes too long is abandoned, so the stop ends in time whatever hangs. One that fails
 * keeps no later one from running; then throws the first error.
 */
async function stopInSteps(
  steps: readonly StopStep[],
  { drainTimeoutMs, onLate }: StopOptions,
): Promise<void> {
  const drainEndsAt = performance.now() + drainTimeoutMs;
  const errors: unknown[] = [];
  for (const { name, endsMsAfterDrain, run } of steps) {
    const leftMs = Math.max(0, drainEndsAt + endsMsAfterDrain - performance.now());
    const ended = (async () => {
      await run();
    })();
    await settleWithin(leftMs, ended, () => onLate(name)).catch((error: unknown) => errors.push(error));
  }
  if (errors.length > 0) throw errors[0];
}
