import { failingEndpoints } from "../../../projections/webhookDeliveries/queries.ts";
import { disableFailedEndpoint } from "../../commands/webhook/changeWebhookEndpoint.ts";
import { FAILING_RULE } from "../../domain/webhook/failingRule.ts";
import { type EpochMs, rfc3339 } from "../../kernel/time.ts";
import { jumpProofTime } from "../worker/jumpProofTime.ts";
import type { ReadRows } from "../worker/tryReadRows.ts";
import { workerCommandContext } from "../worker/workerCommandContext.ts";
import type { WebhookDeliveryDependencies } from "./deliverWebhook.ts";

/** How often to look for endpoints that no call reaches. */
const CHECK_INTERVAL_MS = 60_000;
const FAILING_MAX = 1_000;

/**
 * Disables the endpoints that no call has reached for as long as {@link FAILING_RULE} says. Call it often, with the
 * monotonic time in ms: it looks once a minute.
 */
export function disableFailingEndpoints(
  deps: WebhookDeliveryDependencies,
  read: ReadRows,
): (now: number) => Promise<void> {
  const settled = jumpProofTime(deps.clock);
  let lookedAt = Number.NEGATIVE_INFINITY;
  return async (now) => {
    if (now - lookedAt < CHECK_INTERVAL_MS) return;
    lookedAt = now;
    // A stale read model has not seen the latest successes.
    if (!(await deps.waitUntilCaughtUp(deps.stopping))) return;
    await disableUnreached(deps, settled() - FAILING_RULE.durationMs, read);
  };
}

/** Disables the endpoints that no call has reached since `since`. */
async function disableUnreached(
  deps: WebhookDeliveryDependencies,
  since: EpochMs,
  read: ReadRows,
): Promise<void> {
  const { instance } = await deps.instanceStatus.get();
  // While the log was stopped nobody was called here, and calls made elsewhere meanwhile are unknown.
  if (instance?.downtimes.some(({ to }) => to === null || to > since)) return;
  const failing = read((db) => failingEndpoints(db, rfc3339(since), FAILING_RULE, FAILING_MAX)) ?? [];
  for (const { workspaceId, endpointId } of failing) {
    const asWorker = workerCommandContext(deps, workspaceId);
    const hasChanged = await disableFailedEndpoint(deps, { endpointId }, "failing", asWorker);
    if (hasChanged) deps.onDisabled({ workspaceId, endpointId, reason: "failing" });
  }
}
