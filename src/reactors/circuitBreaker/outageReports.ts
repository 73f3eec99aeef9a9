import type { Clock } from "../../ports/clock.ts";

/** What the operator is told about something that fails. */
export type OutageReport<Fault> =
  | { readonly kind: "began"; readonly fault: Fault }
  /**
   * It lasts; `changed` is the first report of another kind of fault than those told since it began. `attempts` counts
   * the failures since then.
   */
  | {
      readonly kind: "changed" | "lasts";
      readonly fault: Fault;
      readonly forMs: number;
      readonly attempts: number;
    }
  | { readonly kind: "ended"; readonly forMs: number; readonly attempts: number };

/** This many failures in a row, or failures for this long, are more than a hiccup. */
const FAULTS_MIN = 3;
const FAULTY_MS_MIN = 10_000;
/** How often to report trouble that lasts. */
const REPEAT_MS = 60_000;

interface FaultKinds<Fault> {
  /** Whether the fault may be a hiccup. */
  readonly isPassing: (fault: Fault) => boolean;
  /** Faults of one kind have one remedy. */
  readonly kindOf: (fault: Fault) => string;
}

/**
 * Reports when trouble begins and when it ends. In between once a minute, and at once when another kind of fault takes
 * its place: a relay that comes back with another password needs another remedy. Each kind is reported at once only the
 * first time, so trouble that alternates between two does not fill the log.
 */
export class OutageReports<Fault> {
  private attempts = 0;
  private beganAt = 0;
  /** When the last report was made, by the monotonic clock; null while there is nothing to report. */
  private reportedAt: number | null = null;
  /** The kinds that were reported since it began. */
  private readonly told = new Set<string>();

  constructor(
    private readonly clock: Pick<Clock, "monotonicMs">,
    private readonly tell: (report: OutageReport<Fault>) => void,
    private readonly kinds: FaultKinds<Fault> = { isPassing: () => true, kindOf: () => "" },
  ) {}

  /** Whether the operator was told of trouble that is not over yet. */
  get isTold(): boolean {
    return this.reportedAt !== null;
  }

  /** How long it has failed. */
  get forMs(): number {
    return this.attempts === 0 ? 0 : this.clock.monotonicMs() - this.beganAt;
  }

  fault(fault: Fault): void {
    const now = this.clock.monotonicMs();
    if (this.attempts === 0) this.beganAt = now;
    this.attempts += 1;
    const forMs = now - this.beganAt;
    if (this.reportedAt === null) {
      if (this.kinds.isPassing(fault) && this.attempts < FAULTS_MIN && forMs < FAULTY_MS_MIN) return;
      this.report({ kind: "began", fault }, now);
    } else if (!this.told.has(this.kinds.kindOf(fault))) {
      this.report({ kind: "changed", fault, forMs, attempts: this.attempts }, now);
    } else if (now - this.reportedAt >= REPEAT_MS) {
      this.report({ kind: "lasts", fault, forMs, attempts: this.attempts }, now);
    }
  }

  private report(report: Exclude<OutageReport<Fault>, { readonly kind: "ended" }>, now: number): void {
    this.reportedAt = now;
    this.told.add(this.kinds.kindOf(report.fault));
    this.tell(report);
  }

  success(): void {
    const { attempts, reportedAt } = this;
    this.attempts = 0;
    this.reportedAt = null;
    this.told.clear();
    if (reportedAt === null) return;
    this.tell({ kind: "ended", forMs: this.clock.monotonicMs() - this.beganAt, attempts });
  }
}
