/** A queue of jobs of many owners, who take turns, so nobody waits for all jobs of another owner. */
export class RoundRobinQueue<Job> {
  private readonly waiting = new Map<string, Job[]>();

  add(owner: string, job: Job): void {
    this.waiting.getOrInsertComputed(owner, () => []).push(job);
  }

  /** Removes and returns the first job of the owner whose turn it is; undefined if none waits. */
  next(): Job | undefined {
    const [owner, jobs = []] = this.waiting.entries().next().value ?? [];
    const job = jobs.shift();
    if (owner === undefined) return undefined;
    // Moves the owner behind all others.
    this.waiting.delete(owner);
    if (jobs.length > 0) this.waiting.set(owner, jobs);
    return job;
  }
}
