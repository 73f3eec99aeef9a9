import { freezeInstance, unfreezeInstance } from "../../domain/instance/decisions.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { instanceAggregate } from "../aggregateDefinitions.ts";
import { transact } from "../transact.ts";

/** Freezes the log: every instance stops within about a second. Returns when it was frozen (epoch ms). */
export function freezeLog(store: EventStore, context: CommandContext) {
  return transact(store, instanceAggregate, (state) => freezeInstance(state, context.at), context);
}

export function unfreezeLog(store: EventStore, context: CommandContext) {
  return transact(store, instanceAggregate, (state) => unfreezeInstance(state, context.at), context);
}
