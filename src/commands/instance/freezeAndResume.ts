import {
  copyInstance,
  resumeInstance,
  sealInstance,
  unsealInstance,
} from "../../domain/instance/decisions.ts";
import { INSTANCE_STREAM } from "../../domain/instance/events.ts";
import type { Occasion } from "../../kernel/event/eventMetadata.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { transact } from "../transact.ts";
import { instanceAggregate } from "./openInstance.ts";

const aggregate = { ...instanceAggregate, stream: INSTANCE_STREAM };

/** Stops every instance of the log within a second or so. Answers since when it is sealed (epoch ms). */
export function sealLog(store: EventStore, occasion: Occasion) {
  return transact(store, aggregate, (state) => sealInstance(state, occasion.at), occasion);
}

/** Lets the log go on where it is. */
export function unsealLog(store: EventStore, occasion: Occasion) {
  return transact(store, aggregate, (state) => unsealInstance(state, occasion.at), occasion);
}

/** Notes that a copy of the log is about to be written to `place`: reports of erasures name it. */
export function noteCopy(
  store: EventStore,
  copy: { readonly kind: "backup" | "export"; readonly place: string },
  occasion: Occasion,
) {
  return transact(store, aggregate, (state) => copyInstance(state, { ...copy, at: occasion.at }), occasion);
}

/** Lets go on what is held since the log was restored; null when nothing is. */
export function resumeLog(store: EventStore, occasion: Occasion) {
  return transact(store, aggregate, (state) => resumeInstance(state, occasion.at), occasion);
}
