import { rfc3339 } from "../../../kernel/time.ts";
import type { MaintenanceCheck } from "../frame/dashboardOptions.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

/** What needs attention in the workspace itself; empty if nothing does. */
export function workspaceChecks({ pausedSince }: PageContext): readonly MaintenanceCheck[] {
  if (pausedSince === null) return [];
  const detail = `paused since ${rfc3339(pausedSince)}: new messages are refused, and what is queued waits`;
  return [{ name: "sending", status: "warning", detail, action: null }];
}
