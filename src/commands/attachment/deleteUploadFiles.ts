import { noteBytesRemoved } from "../../domain/attachment/decisions.ts";
import { isRejectedOrExpired } from "../../domain/attachment/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
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
