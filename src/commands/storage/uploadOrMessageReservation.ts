import { ACCEPTANCE_REVISION, emailCodec, emailStream } from "../../domain/email/events.ts";
import type { EventStore } from "../../ports/eventStore.ts";

/**
 * Whether the owner of a storage reservation exists: an upload exists if its stream does, and a request's direct files
 * exist if the message was accepted from that very request. Throws `StoreError`.
 */
export async function reservationOwnerExists(store: EventStore, owner: string): Promise<boolean> {
  const [stream = "", contentEventId] = owner.split("/");
  if (contentEventId === undefined) return (await store.lastRevision(stream)) !== null;
  const [event] = await store.read(stream, ACCEPTANCE_REVISION, 1);
  if (event === undefined) return false;
  const { data } = emailCodec.decode(event);
  return "contentEventId" in data && data.contentEventId === contentEventId;
}

/** The stream of the message that the direct files of `owner` belong to; null for an upload. */
export function messageOf(owner: string): string | null {
  const end = owner.indexOf("/");
  return end < 0 ? null : owner.slice(0, end);
}

/** The owner name of a request's direct files. Requests racing under one Idempotency-Key share the message's id. */
export function directFilesOwner(emailId: string, contentEventId: string): string {
  return `${emailStream(emailId)}/${contentEventId}`;
}
