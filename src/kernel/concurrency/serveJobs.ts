declare const self: Worker;

/**
 * What the script of a `jobThread` calls once it has loaded everything that its jobs need. Posts that it is ready, and
 * then the result of each job.
 */
export function serveJobs<Job, Result>(run: (job: Job) => Result | Promise<Result>): void {
  self.onmessage = async ({ data }: MessageEvent<Job>) => self.postMessage(await run(data));
  self.postMessage("ready");
}
