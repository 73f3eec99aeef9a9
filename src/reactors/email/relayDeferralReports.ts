import type { RelayFault } from "../../kernel/outcome/mailOutcome.ts";
import { HOUR_MS, MINUTE_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import { OutageReports } from "../circuitBreaker/outageReports.ts";
import type { RelayReport } from "./relayOutageReports.ts";

/** A message that the relay takes later, perhaps. Only codes are reported: the relay's words may name people. */
export interface Deferral {
  readonly emailId: string;
  readonly recipientHash: string;
  readonly reason: string;
}

/** Different recipients deferred in a row, without one message sent in between, that are no trouble of their own. */
const RECIPIENTS_MIN = 10;
/** Nor are they if a message is sent this soon: a relay that takes every twentieth message would fill the log. */
const SERIES_MS_MIN = MINUTE_MS;
/** Without a deferral for so long, more than the default longest wait before a retry, nobody knows any more. */
const SILENCE_MS_MAX = 6 * HOUR_MS;

/** Reports a relay that defers everybody: it answers each recipient, so no circuit breaker opens, and yet no mail leaves. */
export class RelayDeferralReports {
  /** The first recipients deferred since a message was sent; no more than {@link RECIPIENTS_MIN}. */
  private readonly recipients = new Set<string>();
  private outage: OutageReports<RelayFault>;
  private last: RelayFault | null = null;
  private beganAt = 0;
  private lastAt = 0;

  constructor(
    private readonly clock: Pick<Clock, "monotonicMs">,
    private readonly tell: (report: RelayReport) => void,
  ) {
    this.outage = this.newOutage();
  }

  /** Null unless it defers everybody, and has deferred somebody lately: the messages may have been canceled. */
  get trouble(): RelayFault | null {
    return this.isSilent ? null : this.last;
  }

  /** How long it has deferred everybody. */
  get troubleMs(): number {
    return this.outage.forMs;
  }

  deferred({ recipientHash, reason, emailId }: Deferral): void {
    if (this.isSilent) {
      this.outage = this.newOutage();
      this.clear();
    }
    const now = this.clock.monotonicMs();
    if (this.recipients.size === 0) this.beganAt = now;
    this.lastAt = now;
    if (this.recipients.size < RECIPIENTS_MIN) this.recipients.add(recipientHash);
    if (this.recipients.size < RECIPIENTS_MIN || now - this.beganAt < SERIES_MS_MIN) return;
    this.last = { trouble: "defers_everybody", reason, emailId };
    this.outage.fault(this.last);
  }

  sent(): void {
    this.outage.success();
    this.clear();
  }

  private get isSilent(): boolean {
    return this.clock.monotonicMs() - this.lastAt > SILENCE_MS_MAX;
  }

  private clear(): void {
    this.recipients.clear();
    this.last = null;
  }

  private newOutage(): OutageReports<RelayFault> {
    return new OutageReports(this.clock, this.tell, { isPassing: () => false, kindOf: () => "" });
  }
}
