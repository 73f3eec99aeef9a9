import { expire } from "../../domain/attachment/decisions.ts";
import { canLoseAttachments, expireAttachments } from "../../domain/email/contentErasure.ts";
import { emailStream } from "../../domain/email/events.ts";
import type { Email } from "../../domain/email/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { mailOwnerId } from "../../kernel/liveOrTestOwner.ts";
import { attachmentAggregate, emailAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { type EmailHistory, readEmailHistory } from "../email/emailHistory.ts";
import { contentOf, folderOf } from "../email/readEmail.ts";
import { transact } from "../transact.ts";
import { removeUploadFiles } from "./deleteAttachment.ts";

/** Expires an upload whose retention is over. Then removes its bytes, as for any rejected or expired upload. */
export async function expireUpload(deps: Dependencies, id: string, context: CommandContext): Promise<void> {
  const aggregate = attachmentAggregate.of(id);
  await transact(deps.store, aggregate, (state) => expire(state, context.at), context);
  await removeUploadFiles(deps, id, context);
}

/**
 * Removes the files of an ended message after their retention, releases their storage quota, and records that last, so
 * whatever a crash leaves undone is done again. Throws `StoreError`.
 */
export async function expireEmailFiles(
  deps: Dependencies,
  id: string,
  context: CommandContext,
): Promise<void> {
  const history = await readEmailHistory(deps.store, id);
  const { state } = history;
  if (!canLoseAttachments(state, context.at)) return;
  await removeFiles(deps, id, { history, email: state });
  if (state.directBytes > 0) {
    const owner = `${emailStream(id)}/${state.contentEventId}`;
    await deps.storage.release(mailOwnerId(state), owner, context);
  }
  const aggregate = emailAggregate.of(id);
  await transact(deps.store, aggregate, (now) => expireAttachments(now, context.at), context);
}

/** Removes files one by one, because the folder may also hold the rest of the content. */
async function removeFiles(
  deps: Dependencies,
  id: string,
  { history, email }: { readonly history: EmailHistory; readonly email: Email },
): Promise<void> {
  const folder = folderOf(id, email);
  const content = await contentOf(deps, id, history);
  // Once the content is erased, nobody knows the files' names, and the folder holds nothing that must stay.
  if (content === null) return deps.content.removeFolder(folder);
  const names = new Set((content.attachments ?? []).map(({ sha256 }) => sha256));
  for (const sha256 of names) await deps.content.removeFile(folder, sha256);
}
