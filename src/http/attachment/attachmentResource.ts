import { Type } from "@sinclair/typebox";
import { ATTACHMENT_STATUSES } from "../../domain/attachment/events.ts";
import { FILE_BYTES_MAX } from "../../domain/attachment/fileSizeLimit.ts";
import type { Attachment as AttachmentState } from "../../domain/attachment/state.ts";
import { rfc3339 } from "../../kernel/time.ts";
import { Closed, DateTime, FreeText, Nullable, OneOf, Time, Uuid } from "../body/commonSchemas.ts";
import { jsonOfSchema } from "../body/jsonOfSchema.ts";

export const AttachmentStatus = OneOf(ATTACHMENT_STATUSES);

/** An upload as JSON. */
export const Attachment = Closed(
  {
    id: Uuid,
    object: Type.Literal("attachment"),
    status: AttachmentStatus,
    filename: Nullable(FreeText("Null once it was erased.")),
    content_type: Type.String(),
    size_bytes: Type.Integer({ minimum: 1, maximum: FILE_BYTES_MAX }),
    sha256: Nullable(
      Type.String({
        pattern: "^[0-9a-f]{64}$",
        examples: ["5d".repeat(32)],
        description: "The SHA-256 of the bytes, in lower-case hex; null once the name was erased.",
      }),
    ),
    rejection_reason: Nullable(Type.String(), {
      description: "Why it cannot be sent; null when nothing is wrong with it.",
    }),
    created_at: DateTime,
    expires_at: Time("Until when it can be used in sends."),
  },
  { $id: "Attachment" },
);

const wholeAttachmentJson = jsonOfSchema(Attachment);

export function attachmentJson(id: string, attachment: AttachmentState) {
  const [createdAt, expiresAt] = [rfc3339(attachment.uploadedAt), rfc3339(attachment.expiresAt)];
  return wholeAttachmentJson({ ...attachment, id, sizeBytes: attachment.bytes, createdAt, expiresAt });
}
