import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import type { DashboardRoute } from "../frame/dashboardRoute.ts";
import { deliveryRoutes } from "./deliveryRoutes.tsx";
import { endpointActionRoutes } from "./endpointActionRoutes.tsx";
import { endpointListRoutes } from "./endpointListRoutes.tsx";
import { endpointRoutes } from "./endpointRoutes.tsx";

/** Webhook endpoints and what was delivered to them. `/webhooks/new` comes before `/webhooks/:id`. */
export function webhookRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [
    ...endpointListRoutes(options),
    ...endpointRoutes(options),
    ...endpointActionRoutes(options),
    ...deliveryRoutes(options),
  ];
}
