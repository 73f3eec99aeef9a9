import { ACCEPTANCE_REVISION, emailCodec, emailStream } from "../../../domain/email/events.ts";
import type { EventStore } from "../../../ports/eventStore.ts";

const PAGE_EVENTS = 500;

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
  for (let revision = ACCEPTANCE_REVISION; ; ) {
    const page = await store.read(emailStream(id), revision, PAGE_EVENTS);
    const events = page.map((recorded) => emailCodec.decode(recorded));
    if (events.some((event) => event.type === "EmailSent" && event.data.relayId === relayId)) return true;
    if (page.length < PAGE_EVENTS) return false;
    revision = (page.at(-1)?.revision ?? revision) + 1;
  }
}
