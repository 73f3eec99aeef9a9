import { suppressionCodec } from "../../domain/suppression/events.ts";
import { type EventStore, LOG_START } from "../../ports/eventStore.ts";
import {
  followSuppression,
  type LastSuppression,
  NOT_SUPPRESSED,
  type Suppression,
} from "./readSuppression.ts";

/**
 * Who of a workspace must not get mail now, in the order in which they were suppressed first. Reads the log from its
 * start, and holds the list in memory. Throws `StoreError`.
 */
export async function listSuppressions(
  store: EventStore,
  workspaceId: string,
): Promise<readonly Suppression[]> {
  const streams = new Map<string, LastSuppression>();
  const ofWorkspace = new Set<string>();
  for await (const { events } of store.readAll(LOG_START, { types: suppressionCodec.types })) {
    for (const recorded of events) {
      const { stream } = recorded;
      const { type, data } = suppressionCodec.decode(recorded);
      // What stores the address alone does not say whose it is; what suppresses follows it in the same append.
      if (type !== "SuppressionAddressStored" && data.workspaceId === workspaceId) ofWorkspace.add(stream);
      streams.set(stream, followSuppression(streams.get(stream) ?? NOT_SUPPRESSED, recorded));
    }
  }
  return [...streams].flatMap(([stream, { suppression, isLifted }]) =>
    suppression !== null && !isLifted && ofWorkspace.has(stream) ? [suppression] : [],
  );
}
