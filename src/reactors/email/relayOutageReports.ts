import type { RelayFault } from "../../kernel/outcome/mailOutcome.ts";
import type { Clock } from "../../ports/clock.ts";
import { type OutageReport, OutageReports } from "../circuitBreaker/outageReports.ts";

/** What the operator is told about a relay that does not take mail. */
export type RelayReport = OutageReport<RelayFault>;

/** Reports on the relay. A connection may fail once, but a refused login stays refused until somebody fixes it. */
export class RelayOutageReports extends OutageReports<RelayFault> {
  constructor(clock: Pick<Clock, "monotonicMs">, tell: (report: RelayReport) => void) {
    super(clock, tell, {
      isPassing: ({ trouble }) => trouble !== "login_refused",
      kindOf: ({ trouble }) => trouble,
    });
  }
}
