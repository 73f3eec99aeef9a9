import type { Dependencies } from "../../../commands/dependencies.ts";
import type { WatchedLimit } from "../../../commands/quota/limitWatch.ts";
import { nearLimits } from "../../../commands/quota/nearLimits.ts";
import { LIMIT_REMEDY, nearLimitDetail } from "../../../http/workspace/nearLimitText.ts";
import { type Check, ok, warning } from "./check.ts";

const NAME = "workspace limits";

/** How many workspaces are near each limit, or at it; null while the store does not answer. */
export async function countNearLimits(deps: Dependencies): Promise<((limit: WatchedLimit) => number) | null> {
  const near = await nearLimits(deps);
  if (near === null) return null;
  return (limit) => new Set(near.filter((one) => one.limit === limit).map((one) => one.workspaceId)).size;
}

/** Which workspaces are near a limit that stops their mail. None while the store does not answer, which has a check. */
export async function limitChecks(deps: Dependencies): Promise<readonly Check[]> {
  const near = await nearLimits(deps);
  if (near === null) return [];
  if (near.length === 0) return [ok(NAME, "no workspace that sends has used 80 % of one")];
  const detail = nearLimitDetail(
    near,
    ({ workspaceName, workspaceId }) => `${workspaceName} (${workspaceId}): `,
  );
  return [warning(NAME, detail, LIMIT_REMEDY)];
}
