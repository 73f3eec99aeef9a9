import { freezeInstance, resumeInstance, unfreezeInstance } from "../../domain/instance/decisions.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { instanceAggregate } from "../aggregateDefinitions.ts";
import { transact } from "../transact.ts";

const aggregate = instanceAggregate;

/** Freezes the log: every instance stops within about a second. Returns when it was frozen (epoch ms). */
export function freezeLog(store: EventStore, context: CommandContext) {
  return transact(store, aggregate, (state) => freezeInstance(state, context.at), context);
}

/** Ends the freeze. */
export function unfreezeLog(store: EventStore, context: CommandContext) {
  return transact(store, aggregate, (state) => unfreezeInstance(state, context.at), context);
}

/** Resumes what is held since the log was restored; null when nothing is. */
export function resumeLog(store: EventStore, context: CommandContext) {
  return transact(store, aggregate, (state) => resumeInstance(state, context.at), context);
}
