import { attachmentStream } from "../domain/attachment/events.ts";
import { isSpent } from "../domain/attachment/state.ts";
import { ACCEPTANCE_REVISION, emailCodec, emailStream } from "../domain/email/events.ts";
import { type EmailState, emailDecider } from "../domain/email/state.ts";
import type { ContentFolder } from "../ports/contentStore.ts";
import type { EventStore } from "../ports/eventStore.ts";
import { attachmentAggregate } from "./services.ts";
import { load } from "./transact.ts";

/** Events of one stream that are read at once. */
const PAGE_EVENTS = 500;

/**
 * Whether a folder of content is some stream's: of the message that its owner's id names, or of the upload. By
 * the folder, not by its owner: requests that race with one Idempotency-Key have one owner and a folder each, and
 * the message is the winner's alone. Throws `StoreError`; then nothing is known.
 */
export async function isReferenced(
  store: EventStore,
  { ownerId, folderId }: ContentFolder,
): Promise<boolean> {
  const email = await readEmailState(store, ownerId);
  if (email !== null) return email.contentEventId === folderId && !email.contentErased;
  const { state: upload } = await load(store, attachmentAggregate, attachmentStream(ownerId));
  return upload !== null && !isSpent(upload) && folderId === ownerId;
}

/** A message without its content, which is not asked for: it may be large, and may be erased. */
async function readEmailState(store: EventStore, id: string): Promise<EmailState> {
  let state: EmailState = emailDecider.initialState;
  for (let revision = ACCEPTANCE_REVISION; ; revision += PAGE_EVENTS) {
    const page = await store.read(emailStream(id), revision, PAGE_EVENTS);
    for (const event of page) state = emailDecider.evolve(state, emailCodec.decode(event));
    if (page.length < PAGE_EVENTS) return state;
  }
}
