import type { RelayFault } from "../../kernel/outcome/mailOutcome.ts";
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

/** Reports a relay that defers everybody: it answers each recipient, so no circuit breaker opens, and yet no mail leaves. */
export class RelayDeferralReports {
  /** The first recipients deferred since a message was sent; no more than {@link RECIPIENTS_MIN}. */
  private readonly recipients = new Set<string>();
  private readonly outage: OutageReports<RelayFault>;
  private last: RelayFault | null = null;

  constructor(clock: Pick<Clock, "monotonicMs">, tell: (report: RelayReport) => void) {
    this.outage = new OutageReports(clock, tell, { isPassing: () => false, kindOf: () => "" });
  }

  /** Null unless it defers everybody. */
  get trouble(): RelayFault | null {
    return this.last;
  }

  /** How long it has deferred everybody. */
  get troubleMs(): number {
    return this.outage.forMs;
  }

  deferred({ recipientHash, reason, emailId }: Deferral): void {
    if (this.recipients.size < RECIPIENTS_MIN) this.recipients.add(recipientHash);
    if (this.recipients.size < RECIPIENTS_MIN) return;
    this.last = { trouble: "defers_everybody", reason, emailId };
    this.outage.fault(this.last);
  }

  sent(): void {
    this.recipients.clear();
    this.last = null;
    this.outage.success();
  }
}
