import {
  failuresInARow,
  listWebhookDeliveries,
  type WebhookDeliveryRow,
  webhookDelivery,
} from "../../../../projections/webhookDeliveries/queries.ts";
import { type WebhookEndpointRow, webhookEndpoint } from "../../../../projections/webhookEndpoints.ts";
import { isUuid } from "../../../kernel/ids.ts";
import type { ReadDatabase } from "../../../ports/readDatabase.ts";
import { caughtUpRows } from "../../lists/caughtUpReads.ts";
import { Problem } from "../../server/problem.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

/** The endpoint that the path names. Throws WEBHOOK_NOT_FOUND where the workspace has none of this id. */
export async function endpointOf(
  { webhooks }: DashboardOptions,
  context: PageContext,
): Promise<WebhookEndpointRow> {
  const { workspaceId } = context;
  const id = idIn(context, "id");
  const row = id && webhookEndpoint(await webhooks.caughtUpEndpoints(workspaceId), workspaceId, id);
  if (!row) throw new Problem("WEBHOOK_NOT_FOUND");
  return row;
}

/** The same where it must take deliveries. Throws WEBHOOK_DISABLED. */
export async function activeEndpointOf(
  options: DashboardOptions,
  context: PageContext,
): Promise<WebhookEndpointRow> {
  const endpoint = await endpointOf(options, context);
  if (endpoint.status === "disabled") throw new Problem("WEBHOOK_DISABLED");
  return endpoint;
}

/** The delivery to an endpoint that the path names. Throws NOT_FOUND. */
export async function deliveryOf(
  { readModel }: DashboardOptions,
  endpointId: string,
  context: PageContext,
): Promise<WebhookDeliveryRow> {
  const id = idIn(context, "delivery");
  const row = id && webhookDelivery(await caughtUpRows(readModel("webhook-deliveries")), endpointId, id);
  if (!row) throw new Problem("NOT_FOUND");
  return row;
}

function idIn({ params }: PageContext, name: string): string | null {
  const text = params[name] ?? "";
  return isUuid(text) ? text.toLowerCase() : null;
}

/** How an endpoint has fared, as far as its newest deliveries say. Times are RFC 3339. */
export interface EndpointHealth {
  readonly deliveredAt: string | null;
  /** When a delivery was given up last. */
  readonly gaveUpAt: string | null;
  /** What has failed since the last success. */
  readonly failing: { readonly since: string; readonly failures: number } | null;
}

export function endpointHealthOf(db: ReadDatabase, endpointId: string): EndpointHealth {
  const last = (status: WebhookDeliveryRow["status"]) =>
    listWebhookDeliveries(db, { endpointId, status, limit: 1 }).rows[0]?.updatedAt ?? null;
  return {
    deliveredAt: last("delivered"),
    gaveUpAt: last("exhausted"),
    failing: failuresInARow(db, endpointId),
  };
}
