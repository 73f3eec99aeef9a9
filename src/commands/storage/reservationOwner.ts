import { ACCEPTANCE_REVISION, emailCodec, emailStream } from "../../domain/email/events.ts";
import type { EventStore } from "../../ports/eventStore.ts";

/**
 * Whether a holder of storage has come to be: an upload when its stream was begun, a request's direct files when
 * the message was accepted from that very request. Throws `StoreError`.
 */
export async function holderExists(store: EventStore, holder: string): Promise<boolean> {
  const [stream = "", contentEventId] = holder.split("/");
  if (contentEventId === undefined) return (await store.lastRevision(stream)) !== null;
  const [event] = await store.read(stream, ACCEPTANCE_REVISION, 1);
  if (event === undefined) return false;
  const { data } = emailCodec.decode(event);
  return "contentEventId" in data && data.contentEventId === contentEventId;
}

/** The stream of the message whose direct files `holder` stands for; null for an upload. */
export function messageOf(holder: string): string | null {
  const end = holder.indexOf("/");
  return end < 0 ? null : holder.slice(0, end);
}

/** The name under which a request's direct files are held. Racing requests with one key share the message's id. */
export function directFilesHolder(emailId: string, contentEventId: string): string {
  return `${emailStream(emailId)}/${contentEventId}`;
}
