import { MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";

/** Older calls no longer count. */
const WINDOW_MS = 5 * MINUTE_MS;
const WINDOW_CALLS_MIN = 10;
const FAILING_SHARE_MIN = 0.7;
const OPEN_MS = 30 * SECOND_MS;

/** Opens for a while when most calls to an endpoint fail; no call begins while open. Times are monotonic, in ms. */
export class EndpointCircuitBreaker {
  private calls = 0;
  private failures = 0;
  private openUntil = 0;
  private isShut = true;

  constructor(private windowStart: number) {}

  /** Open, or half open: then one call at a time probes whether the endpoint has recovered. */
  get isOpen(): boolean {
    return !this.isShut;
  }

  /** How long until a call may begin; 0 if one may now. */
  openForMs(now: number): number {
    return this.isOpen ? Math.max(0, this.openUntil - now) : 0;
  }

  /** Counts a call that has ended. */
  record(gotThrough: boolean, now: number): void {
    const isProvenWell = gotThrough && this.isOpen;
    if (isProvenWell) this.isShut = true;
    if (isProvenWell || now - this.windowStart > WINDOW_MS) {
      this.windowStart = now;
      this.calls = 0;
      this.failures = 0;
    }
    this.calls += 1;
    if (!gotThrough) this.failures += 1;
    const isFailing = this.calls >= WINDOW_CALLS_MIN && this.failures >= this.calls * FAILING_SHARE_MIN;
    // A successful call never opens the breaker, however many failed before it.
    if (gotThrough || !(this.isOpen || isFailing)) return;
    this.isShut = false;
    this.openUntil = now + OPEN_MS;
  }
}
