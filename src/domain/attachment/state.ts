import { never } from "../../kernel/assert.ts";
import type { Decider } from "../../kernel/event/decider.ts";
import { type EpochMs, epochMs } from "../../kernel/time.ts";
import type { AttachmentEvent, AttachmentStatus } from "./events.ts";

/** One upload. */
export interface Attachment {
  readonly workspaceId: string;
  /** Null once it was erased. */
  readonly filename: string | null;
  readonly contentType: string;
  readonly bytes: number;
  /** Null once it was erased. */
  readonly sha256: string | null;
  readonly uploadedAt: EpochMs;
  readonly expiresAt: EpochMs;
  readonly status: AttachmentStatus;
  /** Why it was rejected; null if it was not. */
  readonly rejectionReason: string | null;
  readonly bytesRemoved: boolean;
  /** The request that erased its name; null while it has its name. */
  readonly erasureId: string | null;
}

/** `null` before the upload was complete. */
export type AttachmentState = Attachment | null;

type Uploaded = Extract<AttachmentEvent, { type: "AttachmentUploaded" }>["data"];
type Erased = Extract<AttachmentEvent, { type: "AttachmentErased" }>["data"];

function uploaded(
  data: Uploaded | (Erased & { readonly filename: null; readonly sha256: null }),
): Attachment {
  const { workspaceId, filename, contentType, bytes, sha256 } = data;
  return {
    workspaceId,
    filename,
    contentType,
    bytes,
    sha256,
    uploadedAt: epochMs(data.uploadedAt),
    expiresAt: epochMs(data.expiresAt),
    status: "pending",
    rejectionReason: null,
    bytesRemoved: false,
    erasureId: null,
  };
}

function erased(data: Erased): Attachment {
  const left = uploaded({ ...data, filename: null, sha256: null });
  return { ...left, status: "expired", bytesRemoved: true, erasureId: data.erasureId };
}

function evolve(state: AttachmentState, event: AttachmentEvent): AttachmentState {
  if (event.type === "AttachmentUploaded") return uploaded(event.data);
  if (event.type === "AttachmentErased") return erased(event.data);
  if (state === null) return null;
  switch (event.type) {
    case "AttachmentValidated":
      return { ...state, status: "ready" };
    case "AttachmentRejected":
      return { ...state, status: "rejected", rejectionReason: event.data.reason };
    case "AttachmentExpired":
      return { ...state, status: "expired" };
    case "AttachmentBytesRemoved":
      return { ...state, bytesRemoved: true };
    default:
      return never(event);
  }
}

export const attachmentDecider: Decider<AttachmentState, AttachmentEvent> = { initialState: null, evolve };

/** Whether no send can use it any more, so its bytes can be removed. */
export function isRejectedOrExpired({ status }: Attachment): boolean {
  return status === "rejected" || status === "expired";
}
