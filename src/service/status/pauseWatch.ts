import type { Logger } from "pino";
import { type PausedWorkspace, pausedWorkspaces } from "../../../projections/auditLog/pausedWorkspaces.ts";
import { pauseRateText } from "../../domain/workspace/sendingRates.ts";
import { POSTLEDGER } from "../../kernel/text/cliInvocation.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { type PeriodicWorker, periodicWorker } from "../../reactors/worker/periodicWorker.ts";
import type { Readers } from "../../readModels/readModelReaders.ts";

const LOOK_INTERVAL_MS = 30 * SECOND_MS;
/** How soon after the last look news may start the next. */
const WOKEN_INTERVAL_MS = SECOND_MS;
/** More workspaces than this are not watched. */
const WATCHED_MAX = 1_000;

const READ_MODEL = "audit-log";

const PAUSED = `sending of a workspace is paused: new messages are refused, and queued ones wait; \`${POSTLEDGER} workspace resume <id>\` lets it send again`;

/**
 * Logs a line when a workspace is paused, also for those paused at the start, and one when it is resumed, wherever that
 * was done: here, on another instance or on the command line. A pause shorter than the time between two looks has none.
 */
export function pauseWatch(
  logger: Pick<Logger, "warn" | "info">,
  readers: Pick<Readers, "status" | "reader">,
  onTrouble: (error: unknown) => void,
): PeriodicWorker {
  let known: ReadonlyMap<string, string> = new Map();
  const look = async () => {
    // One that is being built goes through pauses that have ended long ago.
    if (readers.status().find(({ name }) => name === READ_MODEL)?.state !== "live") return;
    const rows = pausedWorkspaces(readers.reader(READ_MODEL), WATCHED_MAX);
    const paused = new Map(rows.map(({ id, since }) => [id, since]));
    for (const row of rows) if (known.get(row.id) !== row.since) logger.warn(factsOf(row), PAUSED);
    for (const workspaceId of known.keys())
      if (!paused.has(workspaceId)) logger.info({ workspaceId }, "sending of a workspace is resumed");
    known = paused;
  };
  return periodicWorker({
    round: look,
    intervalMs: LOOK_INTERVAL_MS,
    wokenIntervalMs: WOKEN_INTERVAL_MS,
    firstDelayMs: 0,
    onTrouble,
  });
}

function factsOf({ id: workspaceId, since, rate }: PausedWorkspace) {
  return { workspaceId, since, ...(rate === null ? {} : { reason: pauseRateText(rate) }) };
}
