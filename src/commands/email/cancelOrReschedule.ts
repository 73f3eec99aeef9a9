import { cancel } from "../../domain/email/decisions.ts";
import { emailStream } from "../../domain/email/events.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/eventMetadata.ts";
import { emailAggregate } from "../aggregates.ts";
import type { Dependencies } from "../dependencies.ts";
import { transact } from "../transact.ts";

/** Calls a message back while no worker has claimed it. A repeat is no error. */
export function cancelEmail(deps: Dependencies, id: string, context: WorkspaceCommandContext) {
  const aggregate = { ...emailAggregate, stream: emailStream(id) };
  return transact(
    deps.store,
    aggregate,
    (state) => {
      if (state !== null && state.workspaceId !== context.workspaceId)
        return { outcome: "notFound", events: [] };
      return cancel(state);
    },
    context,
  );
}
