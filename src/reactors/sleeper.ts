/** Lets one loop sleep: until its time is over, it is woken, or everything stops. */
export class Sleeper {
  private end = () => {};

  constructor(private readonly stopping: AbortSignal) {}

  /** Returns at once when everything has stopped. One sleep at a time. */
  sleep(timeMs: number): Promise<void> {
    if (this.stopping.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.stopping.removeEventListener("abort", done);
        this.end = () => {};
        resolve();
      };
      const timer = setTimeout(done, timeMs);
      this.stopping.addEventListener("abort", done);
      this.end = done;
    });
  }

  wake(): void {
    this.end();
  }
}
