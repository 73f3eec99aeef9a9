import { resumeHeld } from "../../domain/email/decisions.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { emailAggregate } from "../aggregateDefinitions.ts";
import { transact } from "../transact.ts";

/** How often callers may resume one message in a day: otherwise they could make us try a server without end. */
const RESUMES_PER_DAY_MAX = 100;

/** Resumes a held message. Throws `ChangeRateError` if a caller has done so too often. */
export function resumeEmail(store: EventStore, id: string, context: WorkspaceCommandContext) {
  const aggregate = { ...emailAggregate.of(id), changesPerDayMax: RESUMES_PER_DAY_MAX };
  return transact(store, aggregate, (state) => resumeHeld(state, context.at), context);
}
