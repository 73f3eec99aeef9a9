import type { MaintenanceCheck } from "../../../http/dashboard/frame/dashboardOptions.ts";
/** One thing that `doctor` checked, through the service or without it. */
export type Check = MaintenanceCheck;

export function ok(name: string, detail: string): Check {
  return { name, status: "ok", detail, action: null };
}

export function warning(name: string, detail: string, action: string): Check {
  return { name, status: "warning", detail, action };
}

export function failed(name: string, detail: string, action: string | null): Check {
  return { name, status: "failed", detail, action };
}
