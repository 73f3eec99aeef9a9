import type { Clock } from "../../ports/clock.ts";

/** What the operator is told about something that fails. */
export type OutageReport<Fault> =
  | { readonly kind: "began"; readonly fault: Fault }
  /** `attempts` counts the failures since it began. */
  | { readonly kind: "lasts"; readonly fault: Fault; readonly forMs: number; readonly attempts: number }
  | { readonly kind: "ended"; readonly forMs: number; readonly attempts: number };

/** This many failures in a row, or failures for this long, are more than a hiccup. */
const FAULTS_MIN = 3;
const FAULTY_MS_MIN = 10_000;
/** How often to report trouble that lasts. */
const REPEAT_MS = 60_000;

/** Reports when trouble begins and when it ends, and once a minute in between. */
export class OutageReports<Fault> {
  private attempts = 0;
  private beganAt = 0;
  /** When the last report was made, by the monotonic clock; null while there is nothing to report. */
  private reportedAt: number | null = null;

  constructor(
    private readonly clock: Pick<Clock, "monotonicMs">,
    private readonly tell: (report: OutageReport<Fault>) => void,
    /** Whether the fault may be a hiccup. */
    private readonly isPassing: (fault: Fault) => boolean = () => true,
  ) {}

  /** Whether the operator was told of trouble that is not over yet. */
  get isTold(): boolean {
    return this.reportedAt !== null;
  }

  fault(fault: Fault): void {
    const now = this.clock.monotonicMs();
    if (this.attempts === 0) this.beganAt = now;
    this.attempts += 1;
    const forMs = now - this.beganAt;
    if (this.reportedAt === null) {
      if (this.isPassing(fault) && this.attempts < FAULTS_MIN && forMs < FAULTY_MS_MIN) return;
      this.reportedAt = now;
      this.tell({ kind: "began", fault });
    } else if (now - this.reportedAt >= REPEAT_MS) {
      this.reportedAt = now;
      this.tell({ kind: "lasts", fault, forMs, attempts: this.attempts });
    }
  }

  success(): void {
    const { attempts, reportedAt } = this;
    this.attempts = 0;
    this.reportedAt = null;
    if (reportedAt === null) return;
    this.tell({ kind: "ended", forMs: this.clock.monotonicMs() - this.beganAt, attempts });
  }
}
