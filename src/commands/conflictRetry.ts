import { StreamBusyError } from "./streamWriteQueue.ts";

/** How long to retry a decision because other instances were first. */
const CONTENTION_MS_MAX = 8_000;
/** The longest wait before the next try; it doubles with every try. */
const BACKOFF_MS_FIRST = 2;
const BACKOFF_MS_MAX = 250;

/** The tries of one writer on a stream that other instances write too. */
export class ConflictRetry {
  private readonly since = performance.now();
  private backoffMs = BACKOFF_MS_FIRST;

  constructor(private readonly stream: string) {}

  /** Call it after losing an append: waits a random time. Throws {@link StreamBusyError} once the time is up. */
  async lost(): Promise<void> {
    const triedMs = Math.round(performance.now() - this.since);
    if (triedMs > CONTENTION_MS_MAX)
      throw new StreamBusyError(this.stream, `appends were lost to other instances for ${triedMs} ms`);
    await Bun.sleep(Math.random() * this.backoffMs);
    this.backoffMs = Math.min(BACKOFF_MS_MAX, 2 * this.backoffMs);
  }
}
