import { MISSED_KEPT_MS } from "../../../projections/webhookDeliveries/missedEvents.ts";
import { listWebhookDeliveries } from "../../../projections/webhookDeliveries/queries.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import { dateTime } from "../body/dateTimeText.ts";
import { findPage, whenCaughtUp } from "../lists/caughtUpReads.ts";
import { createdRange, pageJson, pageRequest } from "../lists/cursorPaging.ts";
import { type ControllerOptions, operationController } from "../server/operationController.ts";
import { idOfPath, invalid } from "../server/problem.ts";
import { activeEndpoint, existingEndpoint } from "../webhook/webhookEndpointHandlers.ts";
import type { EndpointCall } from "../webhook/webhookEndpointsController.ts";
import {
  deliveryIdsOf,
  deliveryWithAttempts,
  existingDelivery,
  recoverSince,
  redeliver,
} from "./webhookDeliveryHandlers.ts";
import { webhookDeliveryOperations } from "./webhookDeliveryOperations.ts";
import { deliveryJson } from "./webhookDeliveryResource.ts";

/** Listing, reading and repeating deliveries. */
export function webhookDeliveriesController(options: ControllerOptions) {
  const { deps, basePath, readModel } = options;
  const deliveries = readModel("webhook-deliveries");
  const endpointOf = async ({ caller, params }: EndpointCall, find = existingEndpoint) =>
    find(options, caller.workspaceId, idOfPath(params.id));
  const deliveryOf = async (endpointId: string, text: string) =>
    existingDelivery(deliveries, endpointId, idOfPath(text));

  return operationController(deps, webhookDeliveryOperations, {
    listWebhookDeliveries: async ({ query, ...call }) => {
      const filters = omitUndefined({ status: query.status, eventType: query.event_type });
      const wanted = { ...pageRequest(query), ...filters, ...createdRange(query) };
      const { id: endpointId } = await endpointOf(call);
      const { email_id: emailId } = query;
      const ids = emailId === undefined ? {} : { ids: await deliveryIdsOf(deps, { emailId, endpointId }) };
      await whenCaughtUp(deliveries);
      const page = await findPage(deliveries, { endpointId, ...wanted, ...ids }, listWebhookDeliveries);
      return pageJson(page, deliveryJson);
    },
    getWebhookDelivery: async ({ params, caller }) => {
      const endpoint = await endpointOf({ params, caller });
      const row = await deliveryOf(endpoint.id, params.delivery_id);
      return deliveryWithAttempts(deps, endpoint, row, caller.principal);
    },
    retryWebhookDelivery: async ({ params, caller, set }) => {
      const endpoint = await endpointOf({ params, caller }, activeEndpoint);
      const row = await deliveryOf(endpoint.id, params.delivery_id);
      await redeliver(deps, row, caller.commandContext());
      set.headers.location = `${basePath}/webhooks/${endpoint.id}/deliveries/${row.id}`;
      return deliveryJson(await deliveryOf(endpoint.id, params.delivery_id));
    },
    recoverWebhook: async ({ body, ...call }) => {
      const since = recoveredSince(body.since, deps.clock.now());
      const { id } = await endpointOf(call, activeEndpoint);
      const context = call.caller.commandContext();
      const { requested, hasMore } = await recoverSince(options, { endpointId: id, since }, context);
      return { object: "webhook_recovery", requested, has_more: hasMore };
    },
  });
}

/** As far back as possible, unless the caller says since when. */
function recoveredSince(text: string | undefined, now: EpochMs): string {
  const earliest = rfc3339(now - MISSED_KEPT_MS);
  if (text === undefined) return earliest;
  const since = dateTime("/since", text);
  if (since < earliest) throw invalid("/since", "is more than 14 days ago");
  return since;
}
