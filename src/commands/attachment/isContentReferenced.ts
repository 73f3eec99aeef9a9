import { isRejectedOrExpired } from "../../domain/attachment/state.ts";
import type { ContentFolder } from "../../ports/contentStore.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { attachmentAggregate } from "../aggregateDefinitions.ts";
import { readEmailState } from "../email/readEmail.ts";
import { load } from "../transact.ts";

/**
 * Whether a stream refers to this content folder: the message with the owner's id, or the upload. Compares the folder,
 * not only the owner: requests that race under one Idempotency-Key share an owner but have a folder each, and only the
 * winner's is referenced. Throws `StoreError`; then the caller must assume nothing.
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
