import { OwnersInTurn } from "./ownersInTurn.ts";

interface QueuedJob<Job, Result> extends PromiseWithResolvers<Result> {
  readonly job: Job;
}

/** A thread that does jobs one after another. */
export interface JobThread<Job, Result> {
  /** Owners take turns, so that nobody's jobs wait for all of another one's. Rejects for a bug, and when it is closed. */
  run(job: Job, owner: string): Promise<Result>;
  /** Ends the thread. A later job begins another. */
  close(): void;
}

/**
 * Does jobs on a thread of its own, which begins with the first of them. `script` answers each message, a job, with its
 * result. One that takes longer than `msMax` comes to `tooLong`, and the thread is ended.
 */
export function jobThread<Job, Result>(
  script: string,
  { msMax, tooLong }: { readonly msMax: number; readonly tooLong: Result },
): JobThread<Job, Result> {
  const waiting = new OwnersInTurn<QueuedJob<Job, Result>>();
  let thread: Worker | null = null;
  let current: QueuedJob<Job, Result> | undefined;
  let timer: Timer | undefined;

  const end = () => {
    thread?.terminate();
    thread = null;
  };

  const begin = (): Worker => {
    const begun = new Worker(script, { ref: false });
    // What a thread that was ended has still said is of no job any more.
    begun.onmessage = ({ data }: MessageEvent<Result>) => {
      if (thread === begun) settle((job) => job.resolve(data));
    };
    begun.onerror = ({ message }) => {
      if (thread === begun) abandon((job) => job.reject(new Error(message)));
    };
    return begun;
  };

  const abandon = (how: (job: QueuedJob<Job, Result>) => void) => {
    end();
    settle(how);
  };

  const settle = (how: (job: QueuedJob<Job, Result>) => void) => {
    clearTimeout(timer);
    if (current) how(current);
    current = waiting.next();
    if (current === undefined) return;
    thread ??= begin();
    timer = setTimeout(() => abandon((job) => job.resolve(tooLong)), msMax);
    thread.postMessage(current.job);
  };

  return {
    run(job, owner) {
      const queued = { job, ...Promise.withResolvers<Result>() };
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
