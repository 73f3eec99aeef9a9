/**
 * Counts requests until all their work is done: one that timed out has its answer already, and may still write to the
 * log.
 */
export class RequestsInFlight {
  private count = 0;
  private readonly waiting: (() => void)[] = [];

  begin(): void {
    this.count += 1;
  }

  end(): void {
    this.count -= 1;
    if (this.count === 0) for (const settle of this.waiting.splice(0)) settle();
  }

  /** Settles as soon as none is in flight. */
  async whenIdle(): Promise<void> {
    if (!this.isIdle) await new Promise<void>((resolve) => this.waiting.push(resolve));
  }

  get isIdle(): boolean {
    return this.count === 0;
  }
}
