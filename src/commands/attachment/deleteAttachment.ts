import { deleteUpload, noteBytesRemoved } from "../../domain/attachment/decisions.ts";
import { type AttachmentState, isRejectedOrExpired } from "../../domain/attachment/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { requireStoreError } from "../../ports/eventStore.ts";
import { attachmentAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { load, transact } from "../transact.ts";

/**
 * Removes the bytes of a rejected or expired upload, frees what it holds of the storage quota, and notes
 * that last: until then the read model shows it as work that is left. Repeatable. Throws `StoreError`.
 */
export async function deleteUploadFiles(
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
  // Done here, there is room again when the caller hears of it. What fails here, the retention does later.
  await deleteUploadFiles(deps, id, context).catch(requireStoreError);
  return "deleted";
}
