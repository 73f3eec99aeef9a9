import type { Attachment } from "../../domain/attachment/state.ts";
import type { ContentFolder } from "../../ports/contentStore.ts";
import { attachmentAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { load } from "../transact.ts";

/** Where the bytes of an upload are. */
export function uploadFolder(workspaceId: string, id: string): ContentFolder {
  return { workspaceId, ownerId: id, folderId: id };
}

/** One upload of the workspace by its stream; null when there is none, also when it is another's. */
export async function readAttachment(
  { store }: Pick<Dependencies, "store">,
  workspaceId: string,
  id: string,
): Promise<Attachment | null> {
  const { state } = await load(store, attachmentAggregate.of(id));
  return state?.workspaceId === workspaceId ? state : null;
}
