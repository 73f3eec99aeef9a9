import type { Logger } from "pino";
import { logRateLimit } from "../../kernel/logRateLimit.ts";
import { MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";

/** Lines in one window: many of what is watched may change at the same time. */
const LINES_MAX = 20;
const WINDOW_MS = MINUTE_MS;

/** Whether one more line may be written about what `about` names; a last one counts those that were omitted. */
export function lineLimit(logger: Pick<Logger, "warn">, about: string): () => boolean {
  return logRateLimit({
    linesMax: LINES_MAX,
    windowMs: WINDOW_MS,
    logOmitted: (omitted) =>
      logger.warn(
        { omitted, windowSeconds: WINDOW_MS / SECOND_MS },
        `further lines about ${about} were omitted`,
      ),
  });
}
