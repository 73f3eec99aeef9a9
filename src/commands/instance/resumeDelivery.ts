import { resumeInstance } from "../../domain/instance/decisions.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { instanceAggregate } from "../aggregateDefinitions.ts";
import { transact } from "../transact.ts";

/** Ends the hold that began when the log was restored; null if nothing is held. */
export function resumeDelivery(store: EventStore, context: CommandContext) {
  return transact(store, instanceAggregate, (state) => resumeInstance(state, context.at), context);
}
