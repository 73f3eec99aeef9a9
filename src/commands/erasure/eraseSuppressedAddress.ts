import {
  type SuppressionEvent,
  suppressionCodec,
  suppressionStream,
} from "../../domain/suppression/events.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { toErasedEvents } from "../../kernel/event/erasedEventHashes.ts";
import type { EventStore, RecordedEvent } from "../../ports/eventStore.ts";
import { toNewEvents } from "../transact.ts";
import { truncateInBatches } from "./truncateInBatches.ts";

/**
 * Erases the address and the note of a recipient's suppressions; whether the recipient is suppressed does not change.
 * Returns whether this request had anything to erase. Repeatable. Throws `StoreError`.
 */
export async function eraseSuppressedAddress(
  store: EventStore,
  recipientHash: string,
  erasureId: string,
  context: WorkspaceCommandContext,
): Promise<boolean> {
  const stream = suppressionStream(recipientHash);
  return truncateInBatches(store, stream, async (events) => {
    const last = events.findLast(({ type }) => type === "SuppressionAddressStored")?.revision;
    if (last === undefined) return events.some((event) => isOf(event, erasureId));
    const cut = events.filter(({ revision }) => revision <= last);
    if (!events.some((event) => namesErased(event, last))) {
      const cutsHistory = cut.some(({ type }) => type !== "SuppressionAddressStored");
      const { workspaceId } = context;
      const data = { workspaceId, recipientHash, cutsHistory, erasureId, erased: toErasedEvents(cut) };
      const event: SuppressionEvent = { type: "SuppressionAddressErased", data };
      const revision = await store.lastRevision(stream);
      const result = await store.append(stream, toNewEvents([event], context), revision ?? "noStream");
      // Somebody wrote the stream meanwhile, perhaps a new address: look again.
      if (result.outcome !== "appended") return null;
    }
    await store.truncateBefore(stream, last + 1);
    return null;
  });
}

function isOf(recorded: RecordedEvent, erasureId: string): boolean {
  const { type, data } = suppressionCodec.decode(recorded);
  return type === "SuppressionAddressErased" && data.erasureId === erasureId;
}

function namesErased(recorded: RecordedEvent, revision: number): boolean {
  const { type, data } = suppressionCodec.decode(recorded);
  return type === "SuppressionAddressErased" && data.erased.some((one) => one.revision === revision);
}
