import { webhooksRevision } from "../../../projections/webhookEndpoints.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { webhooksStream } from "../../domain/webhook/events.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { CAUGHT_UP_WAIT_MS_MAX, notUpToDate } from "../lists/caughtUpReads.ts";

interface EndpointsReader {
  readonly deps: Dependencies;
  /** The read model `webhook-endpoints`. */
  readonly db: ReadDatabase;
  /** Waits until its rows satisfy `ready`, looking again whenever they move; false after `timeoutMs`. */
  readonly when: (ready: (db: ReadDatabase) => boolean, timeoutMs: number) => Promise<boolean>;
}

/**
 * The rows of the endpoints of a workspace, once they hold the last revision of its stream: what was written
 * through any instance is there. Else 503.
 */
export function caughtUpEndpoints({ deps, db, when }: EndpointsReader) {
  return async (workspaceId: string): Promise<ReadDatabase> => {
    const written = (await deps.store.lastRevision(webhooksStream(workspaceId))) ?? -1;
    if (await when((rows) => webhooksRevision(rows, workspaceId) >= written, CAUGHT_UP_WAIT_MS_MAX))
      return db;
    throw notUpToDate();
  };
}
