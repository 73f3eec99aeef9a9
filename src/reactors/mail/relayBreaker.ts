import type { Clock } from "../../ports/clock.ts";

/** Faults in a row after which the relay is left alone. */
const FAULTS_MAX = 5;
const OPEN_MS_FIRST = 1_000;
const OPEN_MS_MAX = 30_000;

/** Leaves a relay alone that is in trouble, and lets one worker at a time find out whether it still is. */
export class RelayBreaker {
  private faults = 0;
  private openMs = OPEN_MS_FIRST;
  private openUntil = 0;
  private probing = false;
  private lastReason: string | null = null;

  constructor(private readonly clock: Clock) {}

  /** What is wrong with the relay; null while nothing is. */
  get trouble(): string | null {
    return this.faults >= FAULTS_MAX ? this.lastReason : null;
  }

  /** Whether a worker may go to the relay now. While the breaker is half open only one may, until it reports. */
  tryEnter(): boolean {
    if (this.faults < FAULTS_MAX) return true;
    if (this.probing || this.clock.monotonicMs() < this.openUntil) return false;
    this.probing = true;
    return true;
  }

  /** A worker that entered found nothing to do after all. */
  leave(): void {
    this.probing = false;
  }

  success(): void {
    this.faults = 0;
    this.openMs = OPEN_MS_FIRST;
    this.probing = false;
    this.lastReason = null;
  }

  fault(reason: string): void {
    this.faults += 1;
    this.probing = false;
    this.lastReason = reason;
    if (this.faults < FAULTS_MAX) return;
    this.openUntil = this.clock.monotonicMs() + this.openMs;
    this.openMs = Math.min(OPEN_MS_MAX, this.openMs * 2);
  }
}
