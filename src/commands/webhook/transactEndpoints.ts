import type { WebhookEvent } from "../../domain/webhook/events.ts";
import type { WebhooksState } from "../../domain/webhook/state.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import { webhookAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { transact } from "../transact.ts";

/** What commands about endpoints work with. */
export type EndpointDependencies = Pick<Dependencies, "store" | "webhooks">;

/** How often callers may change the endpoints of one workspace in a day, all together. */
const CHANGES_PER_DAY_MAX = 2_000;

/** Changes the endpoints of the context's workspace. */
export async function transactEndpoints<Outcome>(
  deps: EndpointDependencies,
  decide: (state: WebhooksState) => Decision<Outcome, WebhookEvent>,
  context: WorkspaceCommandContext,
): Promise<Outcome> {
  const { workspaceId } = context;
  const aggregate = {
    ...webhookAggregate.of(workspaceId),
    // What was read of them is not read again.
    since: () => deps.webhooks.loaded(workspaceId),
    changesPerDayMax: CHANGES_PER_DAY_MAX,
  };
  const outcome = await transact(deps.store, aggregate, decide, context);
  deps.webhooks.forget(workspaceId);
  return outcome;
}
