import { deleteUpload } from "../../domain/attachment/decisions.ts";
import type { AttachmentState } from "../../domain/attachment/state.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { StoreError } from "../../ports/eventStore.ts";
import { attachmentAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { transact } from "../transact.ts";
import { deleteUploadFiles } from "./deleteUploadFiles.ts";

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
  await deleteUploadFiles(deps, id, context).catch((error: unknown) => {
    if (!(error instanceof StoreError)) throw error;
  });
  return "deleted";
}
