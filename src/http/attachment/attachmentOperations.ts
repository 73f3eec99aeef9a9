import { Type } from "@sinclair/typebox";
import { Closed, DirectAttachment } from "../body/commonSchemas.ts";
import { answersPage } from "../lists/listOperation.ts";
import { answersCreated, answersNoContent, answersOk, operationsOf } from "../server/operation.ts";
import { Attachment, AttachmentStatus } from "./attachmentResource.ts";

const UploadForm = Closed({
  file: Type.String({
    format: "binary",
    description:
      "The one file. Its part has its name, and may have its type; without one, the extension decides.",
  }),
});

export const attachmentOperations = operationsOf("Attachments", {
  uploadAttachment: {
    summary: "Upload a file",
    description: "The file is checked after the answer: it can be used in sends once its status is `ready`.",
    body: DirectAttachment,
    multipart: UploadForm,
    ...answersCreated(
      Attachment,
      "STORAGE_LIMIT_EXCEEDED",
      "ATTACHMENT_LIMIT_EXCEEDED",
      "ATTACHMENT_INVALID",
      "ATTACHMENT_TYPE_UNSUPPORTED",
    ),
  },
  listAttachments: {
    summary: "List uploads, newest first",
    ...answersPage(Attachment, { status: Type.Optional(AttachmentStatus) }),
  },
  getAttachment: { summary: "Read an upload", ...answersOk(Attachment, "NOT_FOUND") },
  deleteAttachment: {
    summary: "Delete an upload",
    description: "Messages that were accepted with it keep its bytes. A repeat is no error.",
    ...answersNoContent("NOT_FOUND"),
  },
});
