import { overviewRoutes } from "../overview/overviewRoutes.tsx";
import { suppressionRoutes } from "../suppression/suppressionRoutes.tsx";
import type { DashboardOptions } from "./dashboardOptions.ts";
import type { DashboardRoute } from "./dashboardRoute.ts";

/** Every page and every action of the dashboard. What is not here does not exist. */
export function dashboardRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [...overviewRoutes(options), ...suppressionRoutes(options)];
}
