import { type AttachmentQuery, listAttachments } from "../../../projections/attachments.ts";
import { readAttachment } from "../../commands/attachment/readAttachment.ts";
import { findPage, type ListSource, lookUpEach } from "../lists/caughtUpReads.ts";
import { attachmentJson } from "./attachmentResource.ts";

/** A page of uploads, newest first. File names are only in the uploads' own streams. */
export async function pageOfUploads({ deps, readModel }: ListSource, query: AttachmentQuery) {
  const attachments = readModel("attachments");
  const page = await findPage(attachments, query, listAttachments);
  return lookUpEach(attachments, page, async ({ id }) => {
    const upload = await readAttachment(deps, query.workspaceId, id);
    return upload && attachmentJson(id, upload);
  });
}
