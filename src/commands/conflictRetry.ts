import { StreamBusyError } from "./streamWriteQueue.ts";

/** How long a decision is taken anew because another instance was first. */
const CONTENTION_MS_MAX = 8_000;
/** Between two tries: up to this long, twice as long every time. */
const BACKOFF_MS_FIRST = 2;
const BACKOFF_MS_MAX = 250;

/** The tries of one writer at a stream that other instances write as well. */
export class ConflictRetry {
  private readonly since = performance.now();
  private backoffMs = BACKOFF_MS_FIRST;

  constructor(private readonly stream: string) {}

  /** Somebody was first: waits a random time. Throws {@link StreamBusyError} in the end. */
  async lost(): Promise<void> {
    if (performance.now() - this.since > CONTENTION_MS_MAX) throw new StreamBusyError(this.stream);
    await Bun.sleep(Math.random() * this.backoffMs);
    this.backoffMs = Math.min(BACKOFF_MS_MAX, 2 * this.backoffMs);
  }
}
