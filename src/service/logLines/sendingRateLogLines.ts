import type { Logger } from "pino";
import { percentText } from "../../domain/workspace/sendingRates.ts";
import type { WorkspaceRate } from "../../reactors/workspace/sendingRateWatch.ts";
import { lineLimit } from "./lineLimit.ts";

const BEGAN =
  "of the messages that a workspace has sent in seven days, too many bounced or were complained about: providers suspend accounts for that (docs/bounces-and-complaints.md)";

const ENDED =
  "a workspace has no high bounce or complaint rate any more (where too few messages are left for one, these are the last figures)";

/** Logs which workspaces begin to have a high bounce or complaint rate, and which no longer have it. */
export function sendingRateLog(logger: Pick<Logger, "warn" | "info">) {
  const hasRoom = lineLimit(logger, "bounce and complaint rates");
  return (change: "began" | "ended", { workspaceId, kind, reported, sent }: WorkspaceRate) => {
    if (!hasRoom()) return;
    const facts = { workspaceId, rate: kind, percent: percentText({ reported, sent }), reported, sent };
    if (change === "began") logger.warn(facts, BEGAN);
    else logger.info(facts, ENDED);
  };
}
