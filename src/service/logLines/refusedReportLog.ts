import type { Logger } from "pino";
import type { FeedbackSource } from "../../domain/email/feedback/feedbackDecision.ts";
import { type After, logRateLimit } from "../../kernel/logRateLimit.ts";
import { MINUTE_MS } from "../../kernel/time.ts";

/** Anybody can make calls, so only these lines in a minute say why one of a provider was refused. */
const LINES_MAX = 1;

const TEXT = "a provider's report was refused (docs/bounces-and-complaints.md, a call that is refused)";

/** Logs why a provider's calls are refused: the provider may not show its users what it was answered. */
export function refusedReportLog(
  logger: Pick<Logger, "warn">,
  after?: After,
): (source: FeedbackSource, why: string) => void {
  const limits = new Map<FeedbackSource, () => boolean>();
  const limitOf = (source: FeedbackSource) => {
    const hasRoom = logRateLimit({
      linesMax: LINES_MAX,
      windowMs: MINUTE_MS,
      after,
      logOmitted: (omitted) => logger.warn({ source, omitted }, `${TEXT}: further reports like it`),
    });
    limits.set(source, hasRoom);
    return hasRoom;
  };
  return (source, why) => {
    const hasRoom = limits.get(source) ?? limitOf(source);
    if (hasRoom()) logger.warn({ source, why }, TEXT);
  };
}
