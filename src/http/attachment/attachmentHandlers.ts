import { type AttachmentQuery, listAttachments } from "../../../projections/attachments.ts";
import { readAttachment } from "../../commands/attachment/readAttachment.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import type { Attachment } from "../../domain/attachment/state.ts";
import { findPage, type ListSource, lookUpEach } from "../lists/caughtUpReads.ts";
import { found } from "../server/problem.ts";
import { attachmentJson } from "./attachmentResource.ts";

/** An upload of the workspace. Throws NOT_FOUND. */
export async function existingUpload(
  deps: Pick<Dependencies, "store">,
  workspaceId: string,
  id: string,
): Promise<Attachment> {
  return found(await readAttachment(deps, workspaceId, id));
}

/** A page of uploads, newest first. File names are only in the uploads' own streams. */
export async function pageOfUploads({ deps, readModel }: ListSource, query: AttachmentQuery) {
  const attachments = readModel("attachments");
  const page = await findPage(attachments, query, listAttachments);
  return lookUpEach(attachments, page, async ({ id }) => {
    const upload = await readAttachment(deps, query.workspaceId, id);
    return upload && attachmentJson(id, upload);
  });
}
