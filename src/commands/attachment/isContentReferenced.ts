import { isRejectedOrExpired } from "../../domain/attachment/state.ts";
import { canLoseAttachments } from "../../domain/email/contentErasure.ts";
import { emailCodec, emailStream } from "../../domain/email/events.ts";
import { readableEvent } from "../../kernel/event/eventCodec.ts";
import type { EpochMs } from "../../kernel/time.ts";
import type { ContentFolder } from "../../ports/contentStore.ts";
import type { StreamReader } from "../../ports/eventStore.ts";
import { attachmentAggregate } from "../aggregateDefinitions.ts";
import { readEmailState } from "../email/readEmail.ts";
import { load } from "../transact.ts";

/**
 * Whether a stream refers to this content folder: the message with the owner's id, or the upload. Compares the folder,
 * not only the owner: requests that race under one Idempotency-Key share an owner but have a folder each, and only the
 * winner's is referenced. Throws `StoreError`; then the caller must assume nothing.
 */
export async function isContentReferenced(
  store: StreamReader,
  { ownerId, folderId }: ContentFolder,
): Promise<boolean> {
  const email = await readEmailState(store, ownerId);
  if (email !== null) return email.contentEventId === folderId && !email.contentErased;
  const { state: upload } = await load(store, attachmentAggregate.of(ownerId));
  return upload !== null && !isRejectedOrExpired(upload) && folderId === ownerId;
}

/**
 * Whether a stream refers to this file: of a message whose files have expired, it refers only to the rest of its
 * content. A file past its retention may be gone a moment before the log says so. Throws `StoreError`.
 */
export async function isContentFileReferenced(
  store: StreamReader,
  folder: ContentFolder,
  { sha256, now }: { readonly sha256: string; readonly now: EpochMs },
): Promise<boolean> {
  if (!(await isContentReferenced(store, folder))) return false;
  const email = await readEmailState(store, folder.ownerId);
  if (email === null || !(email.attachmentsExpired || canLoseAttachments(email, now))) return true;
  const [first] = await store.read(emailStream(folder.ownerId), 0, 1);
  const stored = first && readableEvent(emailCodec, first);
  return stored?.type === "EmailContentStored" && stored.data.reference?.sha256 === sha256;
}
