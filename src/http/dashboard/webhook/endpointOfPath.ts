import type { WebhookDeliveryRow } from "../../../../projections/webhookDeliveries/queries.ts";
import type { WebhookEndpointRow } from "../../../../projections/webhookEndpoints.ts";
import { isUuid } from "../../../kernel/ids.ts";
import { Problem } from "../../server/problem.ts";
import type { ProblemCode } from "../../server/problemCodes.ts";
import { activeEndpoint, existingEndpoint } from "../../webhook/webhookEndpointHandlers.ts";
import { existingDelivery } from "../../webhookDelivery/webhookDeliveryHandlers.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

/** The endpoint that the path names. Throws WEBHOOK_NOT_FOUND where the workspace has none of this id. */
export function endpointOf(
  { webhooks }: DashboardOptions,
  context: PageContext,
): Promise<WebhookEndpointRow> {
  return existingEndpoint(webhooks, context.workspaceId, idIn(context, "id", "WEBHOOK_NOT_FOUND"));
}

/** The same where it must take deliveries. Throws WEBHOOK_DISABLED. */
export function activeEndpointOf(
  { webhooks }: DashboardOptions,
  context: PageContext,
): Promise<WebhookEndpointRow> {
  return activeEndpoint(webhooks, context.workspaceId, idIn(context, "id", "WEBHOOK_NOT_FOUND"));
}

/** The delivery to an endpoint that the path names. Throws NOT_FOUND. */
export function deliveryOf(
  { readModel }: DashboardOptions,
  endpointId: string,
  context: PageContext,
): Promise<WebhookDeliveryRow> {
  return existingDelivery(
    readModel("webhook-deliveries"),
    endpointId,
    idIn(context, "delivery", "NOT_FOUND"),
  );
}

function idIn({ params }: PageContext, name: string, code: ProblemCode): string {
  const text = params[name] ?? "";
  if (!isUuid(text)) throw new Problem(code);
  return text.toLowerCase();
}
