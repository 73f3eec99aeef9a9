import { ACCEPTANCE_REVISION, emailCodec, emailStream } from "../../../domain/email/events.ts";
import type { EventStore } from "../../../ports/eventStore.ts";
import { streamPages } from "../../transact.ts";

/**
 * The first of the messages that a relay has accepted under this id; null when none of them was. Throws `StoreError`.
 */
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

/** Reads from after the content, which may be large: a short request has many messages looked at. */
async function hasRelayId(store: EventStore, id: string, relayId: string): Promise<boolean> {
  for await (const page of streamPages(store, emailStream(id), ACCEPTANCE_REVISION)) {
    const events = page.map((recorded) => emailCodec.decode(recorded));
    if (events.some((event) => event.type === "EmailSent" && event.data.relayId === relayId)) return true;
  }
  return false;
}
