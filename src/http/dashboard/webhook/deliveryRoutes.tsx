/** @jsxImportSource hono/jsx */

import { deliveryWithAttempts } from "../../webhookDelivery/deliveryWithAttempts.ts";
import { redeliver } from "../../webhookDelivery/redelivery.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, post } from "../frame/dashboardRoute.ts";
import { seeOther } from "../frame/notices.ts";
import { deliveryPage } from "./deliveryPage.tsx";
import { activeEndpointOf, deliveryOf, endpointOf } from "./webhookOfPath.ts";

/** One delivery with its attempts, and asking for it once more. */
export function deliveryRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  const { deps } = options;
  return [
    get("/webhooks/:id/deliveries/:delivery", "webhook:manage", async (visit) => {
      const endpoint = await endpointOf(options, visit);
      const row = await deliveryOf(options, endpoint.id, visit);
      const delivery = await deliveryWithAttempts(deps, row);
      return deliveryPage(visit, { endpoint, row, delivery, now: deps.clock.now() });
    }),
    post("/webhooks/:id/deliveries/:delivery/retry", "webhook:manage", async (visit) => {
      const endpoint = await activeEndpointOf(options, visit);
      const row = await deliveryOf(options, endpoint.id, visit);
      const outcome = await redeliver(deps, row, visit.commandContext());
      const notice =
        outcome === "requested"
          ? "It is delivered once more."
          : "It is under way already: nothing was changed.";
      return seeOther(visit.to(`/webhooks/${endpoint.id}/deliveries/${row.id}`), notice);
    }),
  ];
}
