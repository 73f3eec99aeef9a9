import { type Static, Type } from "@sinclair/typebox";
import { erasedEventHashes, eventHash, type HashedEvent } from "./eventHash.ts";

/**
 * Events of the same stream that are truncated after the event with this member: their revisions, and their hashes
 * (`leaf`), which keep their place in the audit chain of the log.
 */
export const ErasedEvents = Type.Array(Type.Object({ revision: Type.Integer(), leaf: Type.String() }));
export type ErasedEvents = Static<typeof ErasedEvents>;

/** The record of events about to be truncated, including those that they have erased themselves. */
export function toErasedEvents(events: readonly HashedEvent[]): ErasedEvents {
  return events.flatMap((event) => [
    ...erasedEventHashes(event),
    { revision: event.revision, leaf: eventHash(event) },
  ]);
}
