import type { Logger } from "pino";
import { type After, logRateLimit } from "../../kernel/logRateLimit.ts";
import { reasonOf } from "../../kernel/text/errorReason.ts";
import { systemErrorCode } from "../../kernel/text/systemErrorText.ts";
import { MINUTE_MS, SECOND_MS } from "../../kernel/time.ts";
import { StoreError } from "../../ports/eventStore.ts";
import { DESCRIPTORS_REMEDY, OUT_OF_DESCRIPTORS } from "../status/checks/descriptorCheck.ts";

/** Lines per kind of work in one window: while the store is away, every worker retries all the time. */
const LINES_MAX = 10;
const WINDOW_MS = MINUTE_MS;

interface WorkerErrorLogOptions {
  readonly logger: Pick<Logger, "warn">;
  readonly text: string;
  /** The log field for the id of the item concerned. */
  readonly idField?: string;
  readonly after?: After;
}

/**
 * Logs a worker's errors, up to a rate; the rest is summed up in one line. Errors of the store have a limit of their own,
 * so that they hide no other fault.
 */
export function workerErrorLog({ logger, text, idField, after }: WorkerErrorLogOptions) {
  const limit = () =>
    logRateLimit({
      linesMax: LINES_MAX,
      windowMs: WINDOW_MS,
      after,
      logOmitted: (omitted) =>
        logger.warn({ omitted, windowSeconds: WINDOW_MS / SECOND_MS }, `${text}: further lines were omitted`),
    });
  const [ofStore, ofOthers] = [limit(), limit()];
  return (error: unknown, id?: string) => {
    const hasRoom = error instanceof StoreError ? ofStore : ofOthers;
    if (!hasRoom()) return;
    const item = idField === undefined || !id ? {} : { [idField]: id };
    const cause = systemErrorCode(error) === "EMFILE" ? `: ${OUT_OF_DESCRIPTORS}: ${DESCRIPTORS_REMEDY}` : "";
    logger.warn({ ...item, reason: reasonOf(error) }, `${text}${cause}`);
  };
}
