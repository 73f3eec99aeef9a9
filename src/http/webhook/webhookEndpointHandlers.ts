import { type WebhookEndpointRow, webhookEndpoint } from "../../../projections/webhookEndpoints.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { testWebhookEndpoint } from "../../commands/webhook/testWebhookEndpoint.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { caughtUpRows, type ListSource } from "../lists/caughtUpReads.ts";
import { found, Problem } from "../server/problem.ts";

type EndpointSource = Pick<ListSource, "readModel">;

/** The rows of all endpoints, as {@link caughtUpRows} gives them. */
export function caughtUpEndpoints({ readModel }: EndpointSource): Promise<ReadDatabase> {
  return caughtUpRows(readModel("webhook-endpoints"));
}

/** An endpoint of the workspace. Throws WEBHOOK_NOT_FOUND. */
export async function existingEndpoint(
  source: EndpointSource,
  workspaceId: string,
  id: string,
): Promise<WebhookEndpointRow> {
  return found(webhookEndpoint(await caughtUpEndpoints(source), workspaceId, id), "WEBHOOK_NOT_FOUND");
}

/** The same for an endpoint that must take deliveries. Throws WEBHOOK_DISABLED. */
export async function activeEndpoint(
  source: EndpointSource,
  workspaceId: string,
  id: string,
): Promise<WebhookEndpointRow> {
  const endpoint = await existingEndpoint(source, workspaceId, id);
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
