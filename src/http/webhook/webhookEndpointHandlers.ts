import {
  type WebhookEndpointRow,
  webhookEndpoint,
  webhooksRevision,
} from "../../../projections/webhookEndpoints.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { testWebhookEndpoint } from "../../commands/webhook/testWebhookEndpoint.ts";
import { webhooksStream } from "../../domain/webhook/events.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { CAUGHT_UP_WAIT_MS_MAX, notUpToDate } from "../lists/caughtUpReads.ts";
import { found, Problem } from "../server/problem.ts";

interface EndpointsReader {
  readonly deps: Dependencies;
  /** The read model `webhook-endpoints`. */
  readonly db: ReadDatabase;
  /** Waits until its rows satisfy `ready`, checking whenever they change; false after `timeoutMs`. */
  readonly when: (ready: (db: ReadDatabase) => boolean, timeoutMs: number) => Promise<boolean>;
}

/**
 * The rows of a workspace's endpoints, once they hold the last revision of its stream, so everything written through
 * any instance is there; else 503.
 */
export function caughtUpEndpoints({ deps, db, when }: EndpointsReader) {
  return async (workspaceId: string): Promise<ReadDatabase> => {
    const written = (await deps.store.lastRevision(webhooksStream(workspaceId))) ?? -1;
    if (await when((rows) => webhooksRevision(rows, workspaceId) >= written, CAUGHT_UP_WAIT_MS_MAX))
      return db;
    throw notUpToDate();
  };
}

/** The read model `webhook-endpoints`. */
export interface EndpointRows {
  /** Its rows, holding everything written for this workspace before the call; else 503. */
  readonly caughtUpEndpoints: (workspaceId: string) => Promise<ReadDatabase>;
}

/** An endpoint of the workspace. Throws WEBHOOK_NOT_FOUND. */
export async function existingEndpoint(
  { caughtUpEndpoints }: EndpointRows,
  workspaceId: string,
  id: string,
): Promise<WebhookEndpointRow> {
  return found(webhookEndpoint(await caughtUpEndpoints(workspaceId), workspaceId, id), "WEBHOOK_NOT_FOUND");
}

/** The same for an endpoint that must take deliveries. Throws WEBHOOK_DISABLED. */
export async function activeEndpoint(
  endpoints: EndpointRows,
  workspaceId: string,
  id: string,
): Promise<WebhookEndpointRow> {
  const endpoint = await existingEndpoint(endpoints, workspaceId, id);
  if (endpoint.status === "disabled") throw new Problem("WEBHOOK_DISABLED");
  return endpoint;
}

/** Sends an endpoint a test. Returns the id of its delivery. Throws WEBHOOK_DISABLED or WEBHOOK_NOT_FOUND. */
export async function testOrRefuse(
  deps: Dependencies,
  endpointId: string,
  context: WorkspaceCommandContext,
): Promise<string> {
  const outcome = await testWebhookEndpoint(deps, endpointId, context);
  if (outcome.kind === "requested") return outcome.deliveryId;
  throw new Problem(outcome.kind === "disabled" ? "WEBHOOK_DISABLED" : "WEBHOOK_NOT_FOUND");
}
