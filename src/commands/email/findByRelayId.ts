import type { EventStore } from "../../ports/eventStore.ts";
import { readEmailHistory } from "./emailHistory.ts";

/** The first of the messages that a relay has taken under this id; null when none of them was. Throws `StoreError`. */
export async function findByRelayId(
  store: EventStore,
  emailIds: readonly string[],
  relayId: string,
): Promise<string | null> {
  for (const id of emailIds) {
    const { events } = await readEmailHistory(store, id);
    if (events.some(({ event }) => event.type === "EmailSent" && event.data.relayId === relayId)) return id;
  }
  return null;
}
