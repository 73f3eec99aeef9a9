import type { WebhookDeliveryRow } from "../../../../projections/webhookDeliveries/queries.ts";
import type { WebhookEndpointRow } from "../../../../projections/webhookEndpoints.ts";
import { idOfPath } from "../../server/problem.ts";
import { activeEndpoint, existingEndpoint } from "../../webhook/webhookEndpointHandlers.ts";
import { existingDelivery } from "../../webhookDelivery/webhookDeliveryHandlers.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

/** The breadcrumb of every page of an endpoint. */
export const WEBHOOKS = { path: "/webhooks", title: "Webhooks" };

/** The endpoint in the path. Throws WEBHOOK_NOT_FOUND if the workspace has none with this id. */
export function endpointOf(
  options: DashboardOptions,
  { workspaceId, params }: PageContext,
  find = existingEndpoint,
): Promise<WebhookEndpointRow> {
  return find(options, workspaceId, idOfPath(params.id, "WEBHOOK_NOT_FOUND"));
}

/** The same for an endpoint that must take deliveries. Throws WEBHOOK_DISABLED. */
export function activeEndpointOf(options: DashboardOptions, context: PageContext) {
  return endpointOf(options, context, activeEndpoint);
}

/** The delivery in the path, to an endpoint. Throws NOT_FOUND. */
export function deliveryOf(
  { readModel }: DashboardOptions,
  endpointId: string,
  context: PageContext,
): Promise<WebhookDeliveryRow> {
  return existingDelivery(readModel("webhook-deliveries"), endpointId, idOfPath(context.params.delivery));
}
