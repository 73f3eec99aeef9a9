/** What waits to be done for many owners, one piece at a time: they take turns, so that nobody waits for all of another's. */
export class OwnersInTurn<Job> {
  private readonly waiting = new Map<string, Job[]>();

  add(owner: string, job: Job): void {
    this.waiting.getOrInsertComputed(owner, () => []).push(job);
  }

  /** Takes out the first job of the owner whose turn it is; undefined when none waits. */
  next(): Job | undefined {
    const [owner, jobs = []] = this.waiting.entries().next().value ?? [];
    const job = jobs.shift();
    if (owner === undefined) return undefined;
    // After all others, which are in the order in which they came.
    this.waiting.delete(owner);
    if (jobs.length > 0) this.waiting.set(owner, jobs);
    return job;
  }
}
