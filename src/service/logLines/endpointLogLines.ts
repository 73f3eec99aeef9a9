import type { Logger } from "pino";
import { SECOND_MS } from "../../kernel/time.ts";
import type { EndpointFailureReport } from "../../reactors/webhookDelivery/endpointFailureReports.ts";
import { lineLimit } from "./lineLimit.ts";

const BEGAN =
  "the calls to a webhook endpoint fail, and are retried for about three days: its page in the dashboard shows them; after five days without success it is disabled";

/** Logs which endpoints begin to fail, and which get calls again. */
export function endpointFailureLog(logger: Pick<Logger, "warn" | "info">) {
  const hasRoom = lineLimit(logger, "webhook endpoints that begin to fail, or end to,");
  return ({ report, ...endpoint }: EndpointFailureReport) => {
    if (!hasRoom()) return;
    if (report.kind === "began") return logger.warn({ ...endpoint, reason: report.fault }, BEGAN);
    const { attempts, forMs } = report;
    const facts = { ...endpoint, attempts, forSeconds: Math.round(forMs / SECOND_MS) };
    logger.info(facts, "the calls to a webhook endpoint get through again");
  };
}
