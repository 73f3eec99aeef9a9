import { cancel } from "../../domain/email/decisions.ts";
import { emailStream } from "../../domain/email/events.ts";
import type { WorkspaceOccasion } from "../../kernel/event/eventMetadata.ts";
import { emailAggregate, type Services } from "../dependencies.ts";
import { transact } from "../transact.ts";

/** Calls a message back while no worker has claimed it. A repeat is no error. */
export function cancelEmail(services: Services, id: string, occasion: WorkspaceOccasion) {
  const aggregate = { ...emailAggregate, stream: emailStream(id) };
  return transact(
    services.store,
    aggregate,
    (state) => {
      if (state !== null && state.workspaceId !== occasion.workspaceId)
        return { outcome: "notFound", events: [] };
      return cancel(state);
    },
    occasion,
  );
}
