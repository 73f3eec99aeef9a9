import { cancel } from "../../domain/email/decisions.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { emailAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { transact } from "../transact.ts";
import { reachedEmail } from "./readEmail.ts";

/** Cancels a message while no worker has claimed it. A repeat is no error; somebody else's counts as not found. */
export function cancelEmail({ store }: Dependencies, id: string, context: WorkspaceCommandContext) {
  return transact(store, emailAggregate.of(id), (state) => cancel(reachedEmail(state, context)), context);
}
