import { type AttachmentQuery, listAttachments } from "../../../projections/attachments.ts";
import { readAttachment } from "../../commands/attachment/readAttachment.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import type { Attachment } from "../../domain/attachment/state.ts";
import { findPage, type ListSource } from "../lists/caughtUpReads.ts";
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
  const { shown: rows, nextCursor } = await findPage(attachments, query, listAttachments);
  const found = await attachments.scheduler.mapEach(rows, async ({ id }) => {
    const upload = await readAttachment(deps, query.workspaceId, id);
    return upload === null ? [] : [attachmentJson(id, upload)];
  });
  return { shown: found.flat(), nextCursor };
}
