import { Type } from "@sinclair/typebox";
import { ATTACHMENT_STATUSES } from "../../domain/attachment/events.ts";
import { Cursor, DirectAttachment, Limit, NoQuery, Nullable, Uuid } from "../body/commonSchemas.ts";
import type { Operations } from "../server/operation.ts";

const Status = Type.Union(ATTACHMENT_STATUSES.map((status) => Type.Literal(status)));
const Time = Type.String({ format: "date-time" });

/** An upload as answers show it. */
const AttachmentBody = Type.Object(
  {
    id: Uuid,
    object: Type.Literal("attachment"),
    status: Status,
    filename: Nullable(Type.String({ description: "Null once it was erased." })),
    content_type: Type.String(),
    size_bytes: Type.Integer({ minimum: 1, maximum: 5_000_000 }),
    sha256: Nullable(
      Type.String({
        pattern: "^[0-9a-f]{64}$",
        examples: ["5d".repeat(32)],
        description: "The SHA-256 of the bytes, in lower-case hex; null once the name was erased.",
      }),
    ),
    rejection_reason: Type.Union([Type.String(), Type.Null()], {
      description: "Why it cannot be sent; null when nothing is wrong with it.",
    }),
    created_at: Time,
    expires_at: Type.String({ format: "date-time", description: "Until when it can be used in sends." }),
  },
  { additionalProperties: false },
);

export const ListAttachmentsQuery = Type.Object(
  { status: Type.Optional(Status), limit: Type.Optional(Limit), cursor: Type.Optional(Cursor) },
  { additionalProperties: false },
);

const UploadForm = Type.Object(
  { file: Type.String({ format: "binary", description: "The one file; its part says its name and type." }) },
  { additionalProperties: false },
);

const tag = "Attachments";

/** The operations on uploads. */
export const attachmentOperations = {
  uploadAttachment: {
    summary: "Upload a file",
    description: "The file is checked after the answer: it can be used in sends once its status is `ready`.",
    tag,
    query: NoQuery,
    body: DirectAttachment,
    multipart: UploadForm,
    success: { status: 201, schema: AttachmentBody },
    problems: [
      "ATTACHMENT_LIMIT_EXCEEDED",
      "STORAGE_LIMIT_EXCEEDED",
      "ATTACHMENT_INVALID",
      "ATTACHMENT_TYPE_UNSUPPORTED",
    ],
  },
  listAttachments: {
    summary: "List uploads, newest first",
    tag,
    query: ListAttachmentsQuery,
    success: {
      status: 200,
      schema: Type.Object(
        { data: Type.Array(AttachmentBody), next_cursor: Type.Union([Type.String(), Type.Null()]) },
        { additionalProperties: false },
      ),
    },
    problems: ["INVALID_REQUEST"],
  },
  getAttachment: {
    summary: "Read an upload",
    tag,
    query: NoQuery,
    success: { status: 200, schema: AttachmentBody },
    problems: ["INVALID_REQUEST", "NOT_FOUND"],
  },
  deleteAttachment: {
    summary: "Delete an upload",
    description: "Messages that were accepted with it keep its bytes. A repeat is no error.",
    tag,
    query: NoQuery,
    success: { status: 204, schema: null },
    problems: ["INVALID_REQUEST", "NOT_FOUND"],
  },
} satisfies Operations;
