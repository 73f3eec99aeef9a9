import type { RelayFault } from "../../kernel/outcome/mailOutcome.ts";
import type { Clock } from "../../ports/clock.ts";
import type { RelayOutageReports } from "./relayOutageReports.ts";

/** Faults in a row after which the relay is left alone. */
const FAULTS_MAX = 5;
const OPEN_MS_FIRST = 1_000;
const OPEN_MS_MAX = 30_000;

/** One worker's leave to go to the relay. It ends with what is told of it first. */
export interface RelayPass {
  /** The relay is well. */
  success(): void;
  fault(fault: RelayFault): void;
  /** Nothing was learnt of the relay. */
  leave(): void;
}

/** Leaves a relay alone that is in trouble, and lets one worker at a time find out whether it still is. */
export class RelayCircuitBreaker {
  private faults = 0;
  private openMs = OPEN_MS_FIRST;
  private openUntil = 0;
  private isProbed = false;
  private last: RelayFault | null = null;

  constructor(
    private readonly clock: Clock,
    private readonly news: RelayOutageReports,
  ) {}

  /** What is wrong with the relay; null while nothing is. One fault may be a hiccup, a refused log-in is none. */
  get trouble(): RelayFault | null {
    const isKnown = this.faults >= FAULTS_MAX || this.last?.trouble === "login_refused";
    return isKnown ? this.last : null;
  }

  /** How long until the relay is tried again. */
  get restMs(): number {
    return Math.max(0, this.openUntil - this.clock.monotonicMs());
  }

  /** Null: not now. While the breaker is half open only one worker may enter, until its pass has ended. */
  enter(): RelayPass | null {
    const isProbe = this.faults >= FAULTS_MAX;
    if (!isProbe) return this.pass(false);
    if (this.isProbed || this.clock.monotonicMs() < this.openUntil) return null;
    this.isProbed = true;
    return this.pass(true);
  }

  private pass(isProbe: boolean): RelayPass {
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
      leave: () => end(() => {}),
    };
  }

  private close(): void {
    this.faults = 0;
    this.openMs = OPEN_MS_FIRST;
    this.last = null;
    this.news.success();
  }

  /** BackgroundJobs that were under way when the breaker opened keep it open no longer: they saw the same trouble. */
  private count(fault: RelayFault, isProbe: boolean): void {
    this.faults += 1;
    this.last = fault;
    this.news.fault(fault);
    if (!isProbe && this.faults !== FAULTS_MAX) return;
    this.openUntil = this.clock.monotonicMs() + this.openMs;
    this.openMs = Math.min(OPEN_MS_MAX, this.openMs * 2);
  }
}
