import { cancel, resumeHeld } from "../../domain/email/decisions.ts";
import type { EmailEvent } from "../../domain/email/events.ts";
import { reschedule } from "../../domain/email/scheduledTime.ts";
import type { EmailState } from "../../domain/email/state.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { Decision } from "../../kernel/event/decider.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { emailAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { transact } from "../transact.ts";
import { reachedEmail } from "./readEmail.ts";

/** How often callers may move one message in a day: each move stays in its stream, which is always read whole. */
const MOVES_PER_DAY_MAX = 100;

/** Cancels a message while no worker has claimed it. A repeat is no error. */
export function cancelEmail(deps: Dependencies, id: string, context: WorkspaceCommandContext) {
  return changeOwn(deps, id, context, { decide: cancel });
}

/**
 * Moves a scheduled message to another time; a past time means now. A repeat is no error. Throws `ChangeRateError` if
 * the message was moved too often.
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

/** Decides about a message; somebody else's counts as not found. */
function changeOwn<Outcome extends string>(
  deps: Dependencies,
  id: string,
  context: WorkspaceCommandContext,
  { decide, ...bound }: Change<Outcome>,
): Promise<Outcome> {
  const aggregate = { ...emailAggregate.of(id), ...bound };
  return transact(deps.store, aggregate, (state) => decide(reachedEmail(state, context)), context);
}

/** How often callers may resume one message in a day: otherwise they could make us try a server without end. */
const RESUMES_PER_DAY_MAX = 100;

/** Resumes a held message. Throws `ChangeRateError` if a caller has done so too often. */
export function resumeEmail(store: EventStore, id: string, context: WorkspaceCommandContext) {
  const aggregate = {
    ...emailAggregate.of(id),
    changesPerDayMax: RESUMES_PER_DAY_MAX,
  };
  return transact(store, aggregate, (state) => resumeHeld(state, context.at), context);
}
