import {
  copyInstance,
  resumeInstance,
  sealInstance,
  unsealInstance,
} from "../../domain/instance/decisions.ts";
import { INSTANCE_STREAM } from "../../domain/instance/events.ts";
import type { CommandContext } from "../../kernel/event/eventMetadata.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { transact } from "../transact.ts";
import { instanceAggregate } from "./openInstance.ts";

const aggregate = { ...instanceAggregate, stream: INSTANCE_STREAM };

/** Stops every instance of the log within a second or so. Answers since when it is sealed (epoch ms). */
export function sealLog(store: EventStore, context: CommandContext) {
  return transact(store, aggregate, (state) => sealInstance(state, context.at), context);
}

/** Lets the log go on where it is. */
export function unsealLog(store: EventStore, context: CommandContext) {
  return transact(store, aggregate, (state) => unsealInstance(state, context.at), context);
}

/** Notes that a copy of the log is about to be written to `place`: reports of erasures name it. */
export function noteCopy(
  store: EventStore,
  copy: { readonly kind: "backup" | "export"; readonly place: string },
  context: CommandContext,
) {
  return transact(store, aggregate, (state) => copyInstance(state, { ...copy, at: context.at }), context);
}

/** Lets go on what is held since the log was restored; null when nothing is. */
export function resumeLog(store: EventStore, context: CommandContext) {
  return transact(store, aggregate, (state) => resumeInstance(state, context.at), context);
}
