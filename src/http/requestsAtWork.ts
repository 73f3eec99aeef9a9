/**
 * Counts requests until all that they do is done: one that took too long was answered before, and may still write to
 * the log.
 */
export class RequestsAtWork {
  private count = 0;

  begin(): void {
    this.count += 1;
  }

  end(): void {
    this.count -= 1;
  }

  get areOver(): boolean {
    return this.count === 0;
  }
}
