import type { Logger } from "pino";
import type { FeedbackSource } from "../../domain/email/feedback/feedbackDecision.ts";
import { type After, logRateLimit } from "../../kernel/logRateLimit.ts";
import { HOUR_MS } from "../../kernel/time.ts";

/** Reports of providers that name no message which they may be about. */
export interface UnmatchedFeedback {
  /** How many, since the start. */
  readonly counts: ReadonlyMap<FeedbackSource, number>;
  tell(source: FeedbackSource): void;
}

/** One line says what to look at; the metric says how many there are. */
const LINES_MAX = 1;
const WINDOW_MS = 24 * HOUR_MS;

const TEXT =
  "a provider reported on a message that is not of the workspace, or that this service did not send: the report was taken, and no message changed (docs/bounces-and-complaints.md, reports that match no message)";

export function unmatchedFeedback(logger: Pick<Logger, "warn">, after?: After): UnmatchedFeedback {
  const counts = new Map<FeedbackSource, number>();
  const hasRoom = logRateLimit({
    linesMax: LINES_MAX,
    windowMs: WINDOW_MS,
    after,
    logOmitted: (omitted) => logger.warn({ omitted }, `${TEXT}: further reports like it`),
  });
  return {
    counts,
    tell(source) {
      counts.set(source, (counts.get(source) ?? 0) + 1);
      if (hasRoom()) logger.warn({ source }, TEXT);
    },
  };
}
