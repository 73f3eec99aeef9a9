import type { RelayFault } from "../../kernel/outcome/mailOutcome.ts";
import type { Clock } from "../../ports/clock.ts";

/** What is reported to the operator of a relay that does not take mail. */
export type RelayReport =
  | { readonly kind: "began"; readonly fault: RelayFault }
  /** `attempts` are those that failed since it began. */
  | { readonly kind: "lasts"; readonly fault: RelayFault; readonly forMs: number; readonly attempts: number }
  | { readonly kind: "ended"; readonly forMs: number; readonly attempts: number };

/** So many failures in a row, or failures for so long, are no hiccup any more. */
const FAULTS_MIN = 3;
const FAULTY_MS_MIN = 10_000;
/** Trouble that lasts is reported again after this time. */
const REPEAT_MS = 60_000;

/** A connection may fail once; a log-in that is refused is refused until somebody mends it. */
function isPassing({ trouble }: RelayFault): boolean {
  return trouble !== "login_refused";
}

/** Makes one report of the beginning of trouble, one of its end, and one a minute in between. */
export class RelayOutageReports {
  private attempts = 0;
  private beganAt = 0;
  /** When the last report was made, by the monotonic clock; null while there is nothing to report. */
  private reportedAt: number | null = null;

  constructor(
    private readonly clock: Pick<Clock, "monotonicMs">,
    private readonly tell: (report: RelayReport) => void,
  ) {}

  /** Whether the operator was told of trouble that is not over yet. */
  get isTold(): boolean {
    return this.reportedAt !== null;
  }

  fault(fault: RelayFault): void {
    const now = this.clock.monotonicMs();
    if (this.attempts === 0) this.beganAt = now;
    this.attempts += 1;
    const forMs = now - this.beganAt;
    if (this.reportedAt === null) {
      if (isPassing(fault) && this.attempts < FAULTS_MIN && forMs < FAULTY_MS_MIN) return;
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
