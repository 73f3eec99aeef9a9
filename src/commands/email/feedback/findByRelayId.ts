import { ACCEPTANCE_REVISION, emailCodec, emailStream } from "../../../domain/email/events.ts";
import type { EventStore } from "../../../ports/eventStore.ts";
import { streamPages } from "../../transact.ts";

/** How many messages to one address to search for a relay's id, the newest first: reports come within days. */
export const RELAY_ID_SEARCH_MESSAGES_MAX = 50;

/** The first of these messages that a relay accepted under this id; null if none was. Throws `StoreError`. */
export async function findByRelayId(
  store: EventStore,
  emailIds: readonly string[],
  relayId: string,
): Promise<string | null> {
  for (const id of emailIds) {
    if (await hasRelayId(store, id, relayId)) return id;
  }
  return null;
}

/** Skips the content, which may be large: one short request makes us look at many messages. */
async function hasRelayId(store: EventStore, id: string, relayId: string): Promise<boolean> {
  for await (const page of streamPages(store, emailStream(id), ACCEPTANCE_REVISION)) {
    const events = page.map((recorded) => emailCodec.decode(recorded));
    if (events.some((event) => event.type === "EmailSent" && event.data.relayId === relayId)) return true;
  }
  return false;
}
