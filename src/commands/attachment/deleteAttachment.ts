import { deleteUpload, noteBytesRemoved } from "../../domain/attachment/decisions.ts";
import { type AttachmentState, isRejectedOrExpired } from "../../domain/attachment/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { requireStoreError } from "../../ports/eventStore.ts";
import { attachmentAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { load, transact } from "../transact.ts";

/**
 * Removes the bytes of a rejected or expired upload, releases its storage quota, and records that last: until then the
 * read model lists it as work to do. Repeatable. Throws `StoreError`.
 */
export async function removeUploadFiles(
  deps: Dependencies,
  id: string,
  context: CommandContext,
): Promise<void> {
  const aggregate = attachmentAggregate.of(id);
  const { state } = await load(deps.store, aggregate);
  if (state === null || !isRejectedOrExpired(state) || state.bytesRemoved) return;
  await deps.content.removeOwner({ workspaceId: state.workspaceId, ownerId: id });
  await deps.storage.release(state.workspaceId, aggregate.stream, context);
  await transact(deps.store, aggregate, noteBytesRemoved, context);
}

/** Deletes an upload of the context's workspace before it expires. A repeat is no error. */
export async function deleteAttachment(
  deps: Dependencies,
  id: string,
  context: CommandContext,
): Promise<"deleted" | "notFound"> {
  const decide = (state: AttachmentState) =>
    deleteUpload(state?.workspaceId === context.workspaceId ? state : null);
  const aggregate = attachmentAggregate.of(id);
  const outcome = await transact(deps.store, aggregate, decide, context);
  if (outcome === "notFound") return outcome;
  // Done before we answer, so the caller has room again by then. If it fails, the retention worker does it later.
  await removeUploadFiles(deps, id, context).catch(requireStoreError);
  return "deleted";
}
