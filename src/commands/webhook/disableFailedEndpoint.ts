import { disableEndpoint } from "../../domain/webhook/decisions.ts";
import type { DisabledReason, WebhooksState } from "../../domain/webhook/state.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { type EndpointDependencies, transactEndpoints } from "./transactEndpoints.ts";

/** Why an endpoint is disabled that nobody asked to disable. */
export type FailureReason = Exclude<DisabledReason, "manual">;

/**
 * Disables an endpoint for what became of its calls; true when it was not disabled before. Where `url` is given, it is
 * left alone if it has moved from there meanwhile: that says nothing of its new place.
 */
export async function disableFailedEndpoint(
  deps: EndpointDependencies,
  { endpointId, url }: { readonly endpointId: string; readonly url?: string },
  reason: FailureReason,
  context: WorkspaceCommandContext,
): Promise<boolean> {
  let hasChanged = false;
  const decide = (state: WebhooksState): ReturnType<typeof disableEndpoint> => {
    const hasMoved = url !== undefined && state.endpoints.get(endpointId)?.url !== url;
    if (hasMoved) return { outcome: "notFound", events: [] };
    const decision = disableEndpoint(state, endpointId, reason);
    hasChanged = decision.events.length > 0;
    return decision;
  };
  await transactEndpoints(deps, decide, context);
  return hasChanged;
}
