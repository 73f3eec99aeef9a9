import { eraseUpload } from "../../domain/attachment/decisions.ts";
import { type AttachmentEvent, attachmentCodec, attachmentStream } from "../../domain/attachment/events.ts";
import { type AttachmentState, attachmentDecider } from "../../domain/attachment/state.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { toErasedEvents } from "../../kernel/event/erasedEventHashes.ts";
import { deleteAttachment, removeUploadFiles } from "../attachment/deleteAttachment.ts";
import type { Dependencies } from "../dependencies.ts";
import { toNewEvents } from "../transact.ts";
import { truncateInBatches } from "./truncateInBatches.ts";

/**
 * Deletes an upload, and erases its name and everything else that earlier events say about it. False if another request
 * did so, or the workspace has no such upload. Repeatable. Throws `StoreError`.
 */
export async function erasePersonsUpload(
  deps: Dependencies,
  id: string,
  erasureId: string,
  context: WorkspaceCommandContext,
): Promise<boolean> {
  const { store } = deps;
  const stream = attachmentStream(id);
  if ((await deleteAttachment(deps, id, context)) === "notFound") return false;
  await removeUploadFiles(deps, id, context);
  return truncateInBatches(store, stream, async (events) => {
    const state = events.reduce<AttachmentState>(
      (known, event) => attachmentDecider.evolve(known, attachmentCodec.decode(event)),
      attachmentDecider.initialState,
    );
    const told = events.findLast(
      ({ type }) => type === ("AttachmentErased" satisfies AttachmentEvent["type"]),
    );
    if (told !== undefined) {
      await store.truncateBefore(stream, told.revision);
      return state?.erasureId === erasureId;
    }
    const { events: news } = eraseUpload(state, erasureId, toErasedEvents(events));
    const last = events.at(-1);
    if (news.length === 0 || last === undefined) return false;
    await store.append(stream, toNewEvents(news, context), last.revision);
    return null;
  });
}
