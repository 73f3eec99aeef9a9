import { emailStream } from "../../domain/email/events.ts";
import { reschedule } from "../../domain/email/schedule.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/eventMetadata.ts";
import type { EpochMs } from "../../kernel/time.ts";
import { emailAggregate } from "../aggregates.ts";
import type { Dependencies } from "../dependencies.ts";
import { transact } from "../transact.ts";

/** Delivers a scheduled message at another time; a time that is over means now. A repeat is no error. */
export function rescheduleEmail(
  deps: Dependencies,
  id: string,
  scheduledAt: EpochMs,
  context: WorkspaceCommandContext,
) {
  const aggregate = { ...emailAggregate, stream: emailStream(id) };
  return transact(
    deps.store,
    aggregate,
    (state) => {
      if (state !== null && state.workspaceId !== context.workspaceId)
        return { outcome: "notFound", events: [] };
      return reschedule(state, scheduledAt, context.at);
    },
    context,
  );
}
