import { cancel } from "../../domain/email/decisions.ts";
import { type EmailEvent, emailStream } from "../../domain/email/events.ts";
import { reschedule } from "../../domain/email/schedule.ts";
import type { EmailState } from "../../domain/email/state.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/eventMetadata.ts";
import type { EpochMs } from "../../kernel/time.ts";
import { emailAggregate } from "../aggregates.ts";
import type { Dependencies } from "../dependencies.ts";
import { transact } from "../transact.ts";

/** Calls a message back while no worker has claimed it. A repeat is no error. */
export function cancelEmail(deps: Dependencies, id: string, context: WorkspaceCommandContext) {
  return changeOwn(deps, id, context, cancel);
}

/** Delivers a scheduled message at another time; a time that is over means now. A repeat is no error. */
export function rescheduleEmail(
  deps: Dependencies,
  id: string,
  scheduledAt: EpochMs,
  context: WorkspaceCommandContext,
) {
  return changeOwn(deps, id, context, (state) => reschedule(state, scheduledAt, context.at));
}

/** Decides about a message; another workspace's is none. */
function changeOwn<Outcome extends string>(
  deps: Dependencies,
  id: string,
  context: WorkspaceCommandContext,
  decide: (state: EmailState) => Decision<Outcome, EmailEvent>,
): Promise<Outcome> {
  const aggregate = { ...emailAggregate, stream: emailStream(id) };
  const own = (state: EmailState) => (state?.workspaceId === context.workspaceId ? state : null);
  return transact(deps.store, aggregate, (state) => decide(own(state)), context);
}
