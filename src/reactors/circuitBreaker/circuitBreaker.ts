import type { Clock } from "../../ports/clock.ts";
import type { OutageReports } from "./outageReports.ts";

/** One failure of what a breaker guards. */
export interface BreakerFault {
  /** For the operator. */
  readonly reason: string;
  /** The message that alone may be at fault. */
  readonly emailId?: string;
}

/** Consecutive faults that open the breaker. */
const FAULTS_MAX = 5;
const OPEN_MS_FIRST = 1_000;
const OPEN_MS_MAX = 30_000;

/** One worker's permit to use what the breaker guards. The first report ends it. */
export interface BreakerPermit<Fault extends BreakerFault> {
  /** It is well. */
  success(): void;
  fault(fault: Fault): void;
  /** Nothing was learnt about it. */
  release(): void;
}

/** Leaves a relay or a store in trouble alone, and lets one worker at a time probe whether it has recovered. */
export class CircuitBreaker<Fault extends BreakerFault> {
  private faults = 0;
  /** The messages refused since the last success, until it opens: each counts once, as the fault may be its own. */
  private readonly refused = new Set<string>();
  private openMs = OPEN_MS_FIRST;
  private openUntil = 0;
  private isProbed = false;
  /** When the last fault was counted, by the monotonic clock. */
  private faultAt = 0;
  private last: Fault | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly reports: OutageReports<Fault>,
  ) {}

  /** What is wrong; null while nothing is. Single faults do not count: one may be a hiccup. */
  get trouble(): Fault | null {
    const isKnown = this.reports.isTold || this.faults >= FAULTS_MAX;
    return isKnown ? this.last : null;
  }

  /** How long there has been trouble. */
  get troubleMs(): number {
    return this.reports.forMs;
  }

  /** How long until it is tried again. */
  get restMs(): number {
    return Math.max(0, this.openUntil - this.clock.monotonicMs());
  }

  /** Null means not now. While the breaker is half open only one worker gets a permit, until that one ends. */
  acquire(): BreakerPermit<Fault> | null {
    const isProbe = this.faults >= FAULTS_MAX;
    if (!isProbe) return this.permit(false);
    if (this.isProbed || this.clock.monotonicMs() < this.openUntil) return null;
    this.isProbed = true;
    return this.permit(true);
  }

  /** For work that goes ahead without asking: what it finds counts, and a probe may run beside it. */
  witness(): BreakerPermit<Fault> {
    return this.permit(false);
  }

  /** A permit to find out whether trouble lasts: while nothing is due, nobody else would. Null if there is no need. */
  acquireIdle(): BreakerPermit<Fault> | null {
    const learntAt = Math.max(this.faultAt, this.openUntil);
    const isIdle = this.trouble !== null && this.clock.monotonicMs() - learntAt >= OPEN_MS_MAX;
    return isIdle ? this.acquire() : null;
  }

  /** Closes if what the last fault said is known to be over. */
  closeIf(isOver: (last: Fault) => boolean): void {
    if (this.last !== null && isOver(this.last)) this.close();
  }

  private permit(isProbe: boolean): BreakerPermit<Fault> {
    let isOver = false;
    const end = (learn: () => void) => {
      if (isOver) return;
      isOver = true;
      if (isProbe) this.isProbed = false;
      learn();
    };
    return {
      success: () => end(() => this.close()),
      fault: (fault) => end(() => this.count(fault, isProbe)),
      release: () => end(() => {}),
    };
  }

  private close(): void {
    this.faults = 0;
    this.refused.clear();
    this.openMs = OPEN_MS_FIRST;
    this.last = null;
    this.reports.success();
  }

  /** Workers already in flight when the breaker opened do not extend it: they saw the same trouble. */
  private count(fault: Fault, isProbe: boolean): void {
    if (!isProbe && this.isRepeated(fault)) return;
    this.faults += 1;
    this.last = fault;
    this.faultAt = this.clock.monotonicMs();
    this.reports.fault(fault);
    if (!isProbe && this.faults !== FAULTS_MAX) return;
    this.openUntil = this.clock.monotonicMs() + this.openMs;
    this.openMs = Math.min(OPEN_MS_MAX, this.openMs * 2);
  }

  private isRepeated({ emailId }: Fault): boolean {
    if (emailId === undefined || this.faults >= FAULTS_MAX) return false;
    const isRepeated = this.refused.has(emailId);
    this.refused.add(emailId);
    return isRepeated;
  }
}
