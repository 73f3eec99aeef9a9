import { type WebhookEndpointRow, webhookEndpoint } from "../../../projections/webhookEndpoints.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { Problem } from "../server/problem.ts";

/** The read model `webhook-endpoints`. */
export interface EndpointRows {
  /** Its rows, holding everything that was written of this workspace before the call; else 503. */
  readonly caughtUpEndpoints: (workspaceId: string) => Promise<ReadDatabase>;
}

/** An endpoint of the workspace. Throws WEBHOOK_NOT_FOUND. */
export async function existingEndpoint(
  { caughtUpEndpoints }: EndpointRows,
  workspaceId: string,
  id: string,
): Promise<WebhookEndpointRow> {
  const row = webhookEndpoint(await caughtUpEndpoints(workspaceId), workspaceId, id);
  if (row === null) throw new Problem("WEBHOOK_NOT_FOUND");
  return row;
}

/** The same where it must take deliveries. Throws WEBHOOK_DISABLED. */
export async function activeEndpoint(
  endpoints: EndpointRows,
  workspaceId: string,
  id: string,
): Promise<WebhookEndpointRow> {
  const endpoint = await existingEndpoint(endpoints, workspaceId, id);
  if (endpoint.status === "disabled") throw new Problem("WEBHOOK_DISABLED");
  return endpoint;
}
