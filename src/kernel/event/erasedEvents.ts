import { type Static, Type } from "@sinclair/typebox";
import { erasedLeaves, eventLeaf, type LeafSource } from "./eventHash.ts";

/**
 * Events of the same stream that are cut off after the event that carries this: where they stood, and their leaves,
 * which keep the place of what was in them in the chain over the log.
 */
export const ErasedEvents = Type.Array(Type.Object({ revision: Type.Integer(), leaf: Type.String() }));
export type ErasedEvents = Static<typeof ErasedEvents>;

/** What stands for these events once they are cut off, and for those that they themselves stand for. */
export function leavesOf(events: readonly LeafSource[]): ErasedEvents {
  return events.flatMap((event) => [
    ...erasedLeaves(event),
    { revision: event.revision, leaf: eventLeaf(event) },
  ]);
}
