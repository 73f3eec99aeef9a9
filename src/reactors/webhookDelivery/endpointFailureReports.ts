import { LRUCache } from "lru-cache";
import type { WebhookAttemptResult } from "../../domain/webhookDelivery/classifyWebhookOutcome.ts";
import { HOUR_MS } from "../../kernel/time.ts";
import type { Clock } from "../../ports/clock.ts";
import { type OutageReport, OutageReports } from "../circuitBreaker/outageReports.ts";

/** An endpoint that no call gets through to any more, or again. */
export interface EndpointFailureReport {
  readonly workspaceId: string;
  readonly endpointId: string;
  /** A fault is its reason, with the status of the answer. */
  readonly report: Exclude<OutageReport<string>, { readonly kind: "changed" | "lasts" }>;
}

/** Beyond this many endpoints that have failed, the one that was called longest ago is forgotten, and may be told again. */
const ENDPOINTS_MAX = 10_000;
/** An endpoint that fails and recovers all the time is told at most this often: it would fill the log. */
const REPEAT_MS = HOUR_MS;

/** Reports once when the calls to an endpoint begin to fail, after more than a hiccup, and once when that is over. */
export class EndpointFailureReports {
  private readonly outages = new LRUCache<string, OutageReports<string>>({ max: ENDPOINTS_MAX });

  constructor(
    private readonly clock: Pick<Clock, "monotonicMs">,
    private readonly tell: (report: EndpointFailureReport) => void,
  ) {}

  /** Takes the result of each call; `statusCode` is null without an answer. */
  note(
    endpoint: Omit<EndpointFailureReport, "report">,
    result: WebhookAttemptResult,
    statusCode: number | null,
  ): void {
    // What is ours says nothing about the endpoint, and a blocked destination has a report of its own.
    if (result.kind === "ours") return;
    const { endpointId } = endpoint;
    if (result.kind === "delivered") {
      this.outages.get(endpointId)?.success();
    } else if (result.reason !== "destination_not_public") {
      const reason = statusCode === null ? result.reason : `${result.reason}: ${statusCode}`;
      this.reportsOf(endpoint).fault(reason);
    }
  }

  private reportsOf(endpoint: Omit<EndpointFailureReport, "report">): OutageReports<string> {
    const known = this.outages.get(endpoint.endpointId);
    if (known) return known;
    const reports = new OutageReports<string>(this.clock, this.tellerOf(endpoint));
    this.outages.set(endpoint.endpointId, reports);
    return reports;
  }

  private tellerOf(endpoint: Omit<EndpointFailureReport, "report">): (report: OutageReport<string>) => void {
    let isTold = false;
    let quietUntil = Number.NEGATIVE_INFINITY;
    return (report) => {
      if (report.kind === "ended") {
        if (isTold) this.tell({ ...endpoint, report });
        isTold = false;
      } else if (!isTold && this.clock.monotonicMs() >= quietUntil) {
        isTold = true;
        quietUntil = this.clock.monotonicMs() + REPEAT_MS;
        this.tell({ ...endpoint, report: { kind: "began", fault: report.fault } });
      }
    };
  }
}
