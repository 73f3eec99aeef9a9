import { RoundRobinQueue } from "./roundRobinQueue.ts";

interface QueuedJob<Job, Result> extends PromiseWithResolvers<Result> {
  readonly job: Job;
  readonly isAbandoned: () => boolean;
}

/** A thread that runs jobs one after another. */
interface JobThread<Job, Result> {
  /**
   * Owners take turns, so nobody's jobs wait for all of another owner's. Rejects for a bug, when the thread is closed,
   * and if nobody waits for the result any more when the job's turn comes.
   */
  run(job: Job, owner: string, isAbandoned?: () => boolean): Promise<Result>;
  /** Terminates the thread. A later job starts another one. */
  close(): void;
}

/** After this many times its limit a job is given up even if the process got hardly any processor time. */
const WAIT_FACTOR_MAX = 12;
const CHECK_MS_MIN = 50;

/** Answers how many ms have passed since, and how many of these the process can have worked at most. */
function stopwatch(): () => { readonly passedMs: number; readonly workedMs: number } {
  const startedAt = performance.now();
  const before = process.cpuUsage();
  return () => {
    const passedMs = performance.now() - startedAt;
    const { user, system } = process.cpuUsage(before);
    return { passedMs, workedMs: Math.min(passedMs, (user + system) / 1_000) };
  };
}

/**
 * Runs jobs on their own thread, which the first job starts. `script` gets each job as a message and posts its result.
 * A job that takes longer than `msMax` results in `tooLong`, and its thread is terminated. Time in which the process
 * did not run (other programs had the processors, or it was suspended) does not count: the job is not to blame for it.
 */
export function jobThread<Job, Result>(
  script: string,
  { msMax, tooLong }: { readonly msMax: number; readonly tooLong: Result },
): JobThread<Job, Result> {
  const waiting = new RoundRobinQueue<QueuedJob<Job, Result>>();
  let thread: Worker | null = null;
  let current: QueuedJob<Job, Result> | undefined;
  let timer: Timer | undefined;

  const end = () => {
    thread?.terminate();
    thread = null;
  };

  const begin = (): Worker => {
    const begun = new Worker(script, { ref: false });
    // Ignore messages of a terminated thread, because they belong to no current job.
    begun.onmessage = ({ data }: MessageEvent<Result>) => {
      if (thread === begun) settle((job) => job.resolve(data));
    };
    begun.onerror = ({ message }) => {
      if (thread === begun) abandon((job) => job.reject(new Error(message)));
    };
    return begun;
  };

  const nextWanted = (): QueuedJob<Job, Result> | undefined => {
    let next = waiting.next();
    for (; next?.isAbandoned(); next = waiting.next()) next.reject(new Error("the job was abandoned"));
    return next;
  };

  const giveUpAfter = (ms: number, watch: ReturnType<typeof stopwatch>) => {
    timer = setTimeout(() => {
      const { passedMs, workedMs } = watch();
      if (workedMs >= msMax || passedMs >= msMax * WAIT_FACTOR_MAX) abandon((job) => job.resolve(tooLong));
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
    giveUpAfter(msMax, stopwatch());
    thread.postMessage(current.job);
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
