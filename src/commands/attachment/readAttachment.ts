import type { Attachment } from "../../domain/attachment/state.ts";
import type { ContentFolder } from "../../ports/contentStore.ts";
import { attachmentAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { load } from "../transact.ts";

export function uploadFolder(workspaceId: string, id: string): ContentFolder {
  return { workspaceId, ownerId: id, folderId: id };
}

/** One upload of the workspace, from its stream; null if there is none, or if it is another workspace's. */
export async function readAttachment(
  { store }: Pick<Dependencies, "store">,
  workspaceId: string,
  id: string,
): Promise<Attachment | null> {
  const { state } = await load(store, attachmentAggregate.of(id));
  return state?.workspaceId === workspaceId ? state : null;
}
