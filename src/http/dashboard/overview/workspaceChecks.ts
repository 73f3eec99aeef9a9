import type { ExpiringKey } from "../../../../projections/apiKeys.ts";
import { nearLimits, type WorkspaceNearLimit } from "../../../commands/quota/nearLimits.ts";
import { type EpochMs, rfc3339 } from "../../../kernel/time.ts";
import { EXPIRY_REMEDY, expiryWarningDetail, keysToWarnOf } from "../../apiKey/expiryWarningText.ts";
import { scheduledRead } from "../../lists/caughtUpReads.ts";
import { LIMIT_REMEDY, nearLimitDetail } from "../../workspace/nearLimitText.ts";
import type { DashboardOptions, MaintenanceCheck } from "../frame/dashboardOptions.ts";
import type { PageContext } from "../frame/dashboardRoute.ts";

/** What needs attention in the workspace itself; empty if nothing does. */
export async function workspaceChecks(
  { deps, readModel }: Pick<DashboardOptions, "deps" | "readModel">,
  { pausedSince, pauseReason, workspaceId, may }: PageContext,
  now: EpochMs,
): Promise<readonly MaintenanceCheck[]> {
  const keys = may("workspace:manage")
    ? await scheduledRead(readModel("api-keys"), (db) => keysToWarnOf(db, now, workspaceId))
    : null;
  const limits = may("workspace:manage") ? await nearLimits(deps, workspaceId) : null;
  return [
    ...(pausedSince === null ? [] : [pauseWarning(pausedSince, pauseReason)]),
    ...(keys === null || keys.length === 0 ? [] : [keyWarning(keys, now)]),
    ...(limits === null || limits.length === 0 ? [] : [nearLimitCheck(limits)]),
  ];
}

function pauseWarning(since: EpochMs, reason: string | null): MaintenanceCheck {
  const detail = `paused since ${rfc3339(since)}: new messages are refused, and what is queued waits`;
  const whole = reason === null ? detail : `${detail}. ${reason}`;
  return { name: "sending", status: "warning", detail: whole, action: null };
}

function keyWarning(keys: readonly ExpiringKey[], now: EpochMs): MaintenanceCheck {
  const detail = expiryWarningDetail(keys, now, ({ name }) => name);
  return { name: "API keys", status: "warning", detail, action: EXPIRY_REMEDY };
}

function nearLimitCheck(near: readonly WorkspaceNearLimit[]): MaintenanceCheck {
  const detail = nearLimitDetail(near, () => "");
  return { name: "limits", status: "warning", detail, action: LIMIT_REMEDY };
}
