import { isRejectedOrExpired } from "../../domain/attachment/state.ts";
import type { ContentFolder } from "../../ports/contentStore.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { attachmentAggregate } from "../aggregateDefinitions.ts";
import { readEmailState } from "../email/readEmail.ts";
import { load } from "../transact.ts";

/**
 * Whether a folder of content is some stream's: of the message that its owner's id names, or of the upload. By
 * the folder, not by its owner: requests that race with one Idempotency-Key have one owner and a folder each, and
 * the message is the winner's alone. Throws `StoreError`; then nothing is known.
 */
export async function isContentReferenced(
  store: EventStore,
  { ownerId, folderId }: ContentFolder,
): Promise<boolean> {
  const email = await readEmailState(store, ownerId);
  if (email !== null) return email.contentEventId === folderId && !email.contentErased;
  const { state: upload } = await load(store, attachmentAggregate.of(ownerId));
  return upload !== null && !isRejectedOrExpired(upload) && folderId === ownerId;
}
