/** @jsxImportSource hono/jsx */
import { failuresInARow } from "../../../../projections/webhookDeliveries/queries.ts";
import { scheduledRead } from "../../lists/caughtUpReads.ts";
import { deliveryWithAttempts, redeliver } from "../../webhookDelivery/webhookDeliveryHandlers.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, post } from "../frame/dashboardRoute.ts";
import { deliveryPage } from "./deliveryPage.tsx";
import { activeEndpointOf, deliveryOf, endpointOf } from "./endpointOfPath.ts";

/** One delivery with its attempts, and delivering it again. */
export function deliveryRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  const { deps } = options;
  return [
    get("/webhooks/:id/deliveries/:delivery", "webhook:manage", async (context) => {
      const endpoint = await endpointOf(options, context);
      const row = await deliveryOf(options, endpoint.id, context);
      const delivery = await deliveryWithAttempts(deps, endpoint, row, context.principal);
      const failing = await scheduledRead(options.readModel("webhook-deliveries"), (db) =>
        failuresInARow(db, endpoint.id),
      );
      const isFailing = failing !== null;
      return deliveryPage(context, { endpoint, row, delivery, isFailing, now: deps.clock.now() });
    }),
    post("/webhooks/:id/deliveries/:delivery/retry", "webhook:manage", async (context) => {
      const endpoint = await activeEndpointOf(options, context);
      const row = await deliveryOf(options, endpoint.id, context);
      const outcome = await redeliver(deps, row, context.commandContext());
      const notice =
        outcome === "requested"
          ? "It is being delivered again."
          : "It is already in flight: nothing was changed.";
      return context.seeOther(`/webhooks/${endpoint.id}/deliveries/${row.id}`, notice);
    }),
  ];
}
