import {
  copyInstance,
  freezeInstance,
  resumeInstance,
  unfreezeInstance,
} from "../../domain/instance/decisions.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { instanceAggregate } from "../aggregateDefinitions.ts";
import { transact } from "../transact.ts";

/** Ends the hold that began when the log was restored; null if nothing is held. */
export function resumeDelivery(store: EventStore, context: CommandContext) {
  return transact(store, instanceAggregate, (state) => resumeInstance(state, context.at), context);
}

/** Freezes the log: every instance stops within about a second. Returns when it was frozen (epoch ms). */
export function freezeLog(store: EventStore, context: CommandContext) {
  return transact(store, instanceAggregate, (state) => freezeInstance(state, context.at), context);
}

/** Ends the freeze. */
export function unfreezeLog(store: EventStore, context: CommandContext) {
  return transact(store, instanceAggregate, (state) => unfreezeInstance(state, context.at), context);
}

/** Records, before a copy of the log is written, where it goes. Erasure reports list it. */
export function recordLogCopy(
  store: EventStore,
  copy: { readonly kind: "backup" | "export"; readonly place: string },
  context: CommandContext,
) {
  const made = { ...copy, at: context.at };
  return transact(store, instanceAggregate, (state) => copyInstance(state, made), context);
}
