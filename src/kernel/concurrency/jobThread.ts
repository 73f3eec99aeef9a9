import { otherThreadsProcessorMs } from "../processorTime.ts";
import { RoundRobinQueue } from "./roundRobinQueue.ts";

interface QueuedJob<Job, Result> extends PromiseWithResolvers<Result> {
  readonly job: Job;
  readonly isAbandoned: () => boolean;
}

/** A thread that runs jobs one after another. */
interface JobThread<Job, Result> {
  /**
   * Owners take turns, so nobody's jobs wait for all of another owner's. Rejects for a bug, with {@link JobStarvedError},
   * when the thread is closed, and if nobody waits for the result any more when the job's turn comes.
   */
  run(job: Job, owner: string, isAbandoned?: () => boolean): Promise<Result>;
  /** Terminates the thread. A later job starts another one. */
  close(): void;
}

/** A job was given up although it cannot have used its time: the process got too little of the processors. */
export class JobStarvedError extends Error {
  override readonly name = "JobStarvedError";
  constructor() {
    super("the process got too little processor time; try again");
  }
}

/** After this many times its limit a job is given up even if its thread got hardly any processor time. */
const WAIT_FACTOR_MAX = 12;
const CHECK_MS_MIN = 50;

/** Answers how many ms have passed since, and how many of these one other thread can have worked at most. */
function stopwatch(): () => { readonly passedMs: number; readonly workedMs: number } {
  const startedAt = performance.now();
  const before = otherThreadsProcessorMs();
  return () => {
    const passedMs = performance.now() - startedAt;
    return { passedMs, workedMs: Math.min(passedMs, otherThreadsProcessorMs() - before) };
  };
}

/**
 * Runs jobs on their own thread, which the first job starts. `script` calls `serveJobs`. A job that takes longer than
 * `msMax` results in `tooLong`, and its thread is terminated. Three kinds of time do not count, because the job is not to
 * blame for them: what the thread takes to start, what the calling thread works, and time in which the process did not
 * run (other programs had the processors, or it was suspended). Time of other threads does count, as nothing tells it
 * apart while a job runs, so `msMax` is several times what an ordinary job takes.
 */
export function jobThread<Job, Result>(
  script: string,
  { msMax, tooLong }: { readonly msMax: number; readonly tooLong: Result },
): JobThread<Job, Result> {
  const waiting = new RoundRobinQueue<QueuedJob<Job, Result>>();
  let thread: { readonly worker: Worker; isReady: boolean } | null = null;
  let current: QueuedJob<Job, Result> | undefined;
  let timer: Timer | undefined;

  const end = () => {
    thread?.worker.terminate();
    thread = null;
  };

  const begin = () => {
    const worker = new Worker(script, { ref: false });
    const begun = { worker, isReady: false };
    // Ignore messages of a terminated thread, because they belong to no current job.
    worker.onmessage = ({ data }: MessageEvent<Result>) => {
      if (thread !== begun) return;
      if (begun.isReady) return settle((job) => job.resolve(data));
      begun.isReady = true;
      if (current) start(worker, current);
    };
    worker.onerror = ({ message }) => {
      if (thread === begun) abandon((job) => job.reject(new Error(message)));
    };
    return begun;
  };

  const start = (worker: Worker, { job }: QueuedJob<Job, Result>) => {
    giveUpAfter(msMax, stopwatch());
    worker.postMessage(job);
  };

  const nextWanted = (): QueuedJob<Job, Result> | undefined => {
    let next = waiting.next();
    for (; next?.isAbandoned(); next = waiting.next()) next.reject(new Error("the job was abandoned"));
    return next;
  };

  const giveUpAfter = (ms: number, watch: ReturnType<typeof stopwatch>) => {
    timer = setTimeout(() => {
      const { passedMs, workedMs } = watch();
      if (workedMs >= msMax) abandon((job) => job.resolve(tooLong));
      else if (passedMs >= msMax * WAIT_FACTOR_MAX) abandon((job) => job.reject(new JobStarvedError()));
      else giveUpAfter(Math.max(msMax - workedMs, CHECK_MS_MIN), watch);
    }, ms);
  };

  const abandon = (how: (job: QueuedJob<Job, Result>) => void) => {
    end();
    settle(how);
  };

  const settle = (how: (job: QueuedJob<Job, Result>) => void) => {
    clearTimeout(timer);
    if (current) how(current);
    current = nextWanted();
    if (current === undefined) return;
    thread ??= begin();
    if (thread.isReady) start(thread.worker, current);
  };

  return {
    run(job, owner, isAbandoned = () => false) {
      const queued = { job, isAbandoned, ...Promise.withResolvers<Result>() };
      waiting.add(owner, queued);
      if (current === undefined) settle(() => {});
      return queued.promise;
    },
    close() {
      clearTimeout(timer);
      end();
      const closed = new Error("the thread was closed");
      for (; current !== undefined; current = waiting.next()) current.reject(closed);
    },
  };
}
