import { Type } from "@sinclair/typebox";
import { ErasedEvents } from "../../kernel/event/erasedEventHashes.ts";
import { createCodec, type EventOf } from "../../kernel/event/eventCodec.ts";

const schemas = {
  AttachmentUploaded: Type.Object({
    workspaceId: Type.String(),
    filename: Type.String(),
    contentType: Type.String(),
    bytes: Type.Integer(),
    /** The name of the bytes in the content store, in the upload's own folder. */
    sha256: Type.String(),
    uploadedAt: Type.String(),
    /** It is retained until then. */
    expiresAt: Type.String(),
  }),
  /** It was inspected and can be sent. */
  AttachmentValidated: Type.Object({}),
  /** It can never be sent. `code` is the error of a send with a direct file like it. */
  AttachmentRejected: Type.Object({ code: Type.String(), reason: Type.String() }),
  AttachmentExpired: Type.Object({
    reason: Type.Union([Type.Literal("retention"), Type.Literal("deleted")]),
  }),
  /** The bytes of a rejected or expired upload are gone, and its storage quota is free again. */
  AttachmentBytesRemoved: Type.Object({}),
  /**
   * What stays of an upload whose name was erased, after its bytes are gone. The events before this one are truncated.
   * `erased` has their hashes, so the chain of seals can still be verified.
   */
  AttachmentErased: Type.Object({
    workspaceId: Type.String(),
    contentType: Type.String(),
    bytes: Type.Integer(),
    uploadedAt: Type.String(),
    expiresAt: Type.String(),
    erasureId: Type.String(),
    erased: ErasedEvents,
  }),
};

/** The names of the types are the storage format. */
export type AttachmentEvent = EventOf<typeof schemas>;
export const attachmentCodec = createCodec(schemas);

export const ATTACHMENT_STATUSES = ["pending", "ready", "rejected", "expired"] as const;
export type AttachmentStatus = (typeof ATTACHMENT_STATUSES)[number];

/** The stream of one upload; also the owner of its reservation in the storage quota. */
export function attachmentStream(id: string): string {
  return `attachment-${id}`;
}
