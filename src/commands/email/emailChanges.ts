import { cancel, resumeHeld } from "../../domain/email/decisions.ts";
import type { EmailEvent } from "../../domain/email/events.ts";
import { reschedule } from "../../domain/email/schedule.ts";
import type { EmailState } from "../../domain/email/state.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { emailAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { transact } from "../transact.ts";
import { isReachedBy } from "./readEmail.ts";

/** How often callers may move one message in a day: each time stays in its stream, which is read whole. */
const MOVES_PER_DAY_MAX = 100;

/** Calls a message back while no worker has claimed it. A repeat is no error. */
export function cancelEmail(deps: Dependencies, id: string, context: WorkspaceCommandContext) {
  return changeOwn(deps, id, context, { decide: cancel });
}

/**
 * Delivers a scheduled message at another time; a time that is over means now. A repeat is no error. Throws
 * `ChangeRateError` when it is one time too many.
 */
export function rescheduleEmail(
  deps: Dependencies,
  id: string,
  scheduledAt: EpochMs,
  context: WorkspaceCommandContext,
) {
  const decide = (state: EmailState) => reschedule(state, scheduledAt, context.at);
  return changeOwn(deps, id, context, { decide, changesPerDayMax: MOVES_PER_DAY_MAX });
}

interface Change<Outcome> {
  readonly decide: (state: EmailState) => Decision<Outcome, EmailEvent>;
  readonly changesPerDayMax?: number;
}

/** Decides about a message; somebody else's is none. */
function changeOwn<Outcome extends string>(
  deps: Dependencies,
  id: string,
  context: WorkspaceCommandContext,
  { decide, ...bound }: Change<Outcome>,
): Promise<Outcome> {
  const aggregate = { ...emailAggregate.of(id), ...bound };
  const own = (state: EmailState) => (state !== null && isReachedBy(state, context) ? state : null);
  return transact(deps.store, aggregate, (state) => decide(own(state)), context);
}

/** How often callers may let one message go on at once: else they could try a server without end. */
const RESUMES_PER_DAY_MAX = 100;

/** Lets a held message go on. Throws `ChangeRateError` when a caller has done so too often. */
export function resumeEmail(store: EventStore, id: string, context: WorkspaceCommandContext) {
  const aggregate = {
    ...emailAggregate.of(id),
    changesPerDayMax: RESUMES_PER_DAY_MAX,
  };
  return transact(store, aggregate, (state) => resumeHeld(state, context.at), context);
}
