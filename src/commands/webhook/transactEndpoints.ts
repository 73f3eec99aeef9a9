import type { WebhookEvent } from "../../domain/webhook/events.ts";
import type { WebhooksState } from "../../domain/webhook/state.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import type { Dependencies } from "../dependencies.ts";

export type EndpointDependencies = Pick<Dependencies, "store" | "webhooks">;

/** How often callers may change the endpoints of one workspace in a day, all together. */
const CHANGES_PER_DAY_MAX = 2_000;

/** Changes the endpoints of the context's workspace. */
export function transactEndpoints<Outcome>(
  deps: EndpointDependencies,
  decide: (state: WebhooksState) => Decision<Outcome, WebhookEvent>,
  context: WorkspaceCommandContext,
): Promise<Outcome> {
  return deps.webhooks.transact(context.workspaceId, decide, context, {
    changesPerDayMax: CHANGES_PER_DAY_MAX,
  });
}
