import { reschedule } from "../../domain/email/scheduledTime.ts";
import type { EmailState } from "../../domain/email/state.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { EpochMs } from "../../kernel/time.ts";
import { emailAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { transact } from "../transact.ts";
import { reachedEmail } from "./readEmail.ts";

/** How often callers may move one message in a day: each move stays in its stream, which is always read whole. */
const MOVES_PER_DAY_MAX = 100;

/**
 * Moves a scheduled message to another time; a past time means now. A repeat is no error; somebody else's message counts
 * as not found. Throws `ChangeRateError` if the message was moved too often.
 */
export function rescheduleEmail(
  { store }: Dependencies,
  id: string,
  scheduledAt: EpochMs,
  context: WorkspaceCommandContext,
) {
  const aggregate = { ...emailAggregate.of(id), changesPerDayMax: MOVES_PER_DAY_MAX };
  const decide = (state: EmailState) => reschedule(reachedEmail(state, context), scheduledAt, context.at);
  return transact(store, aggregate, decide, context);
}
