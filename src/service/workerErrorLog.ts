import type { Logger } from "pino";
import { type After, afterInBackground, lineBudget } from "../kernel/logRateLimit.ts";
import { reasonOf } from "../kernel/text/errorReason.ts";
import { MINUTE_MS, SECOND_MS } from "../kernel/time.ts";
import { StoreError } from "../ports/eventStore.ts";

/** Lines per kind of work in one window: while the store is away, every worker retries all the time. */
const LINES_MAX = 10;
const WINDOW_MS = MINUTE_MS;

interface TroubleLogOptions {
  readonly logger: Pick<Logger, "warn">;
  readonly text: string;
  /** The log field for the id of the item concerned. */
  readonly idField?: string;
  readonly after?: After;
}

/**
 * Logs a worker's trouble, up to a rate; the rest is summed up in one line. Trouble of the store has a budget of its own,
 * so that it hides no other fault.
 */
export function troubleLog({ logger, text, idField, after = afterInBackground }: TroubleLogOptions) {
  const budget = () =>
    lineBudget({
      linesMax: LINES_MAX,
      windowMs: WINDOW_MS,
      after,
      logOmitted: (omitted) =>
        logger.warn({ omitted, windowSeconds: WINDOW_MS / SECOND_MS }, `${text}: further lines were omitted`),
    });
  const [ofStore, ofOthers] = [budget(), budget()];
  return (error: unknown, id?: string) => {
    const hasRoom = error instanceof StoreError ? ofStore : ofOthers;
    if (!hasRoom()) return;
    const item = idField === undefined || !id ? {} : { [idField]: id };
    logger.warn({ ...item, reason: reasonOf(error) }, text);
  };
}
