import { FILE_BYTES_MAX } from "../../../domain/attachment/fileSizeLimit.ts";
import type { Attachment } from "../../../domain/attachment/state.ts";
import { ATTACHMENTS_BYTES_MAX, ATTACHMENTS_MAX } from "../../../domain/email/contentLimits.ts";
import type { WorkspaceLimits } from "../../../domain/workspace/workspaceLimits.ts";
import { invariant } from "../../../kernel/assert.ts";
import { base64Bytes } from "../../../kernel/text/base64.ts";
import { grouped } from "../../../kernel/text/readableNumbers.ts";
import type { ContentFolder } from "../../../ports/contentStore.ts";
import { decodeFile, type FileFault, fileFaultOf, normalizedFilename } from "../../attachment/fileFaults.ts";
import { readAttachment, uploadFolder } from "../../attachment/readAttachment.ts";
import type { Dependencies } from "../../dependencies.ts";
import { readWorkspaceLimits } from "../../workspace/readWorkspaceLimits.ts";
import type { AttachmentRefusal } from "./sendOutcome.ts";

/** An element of a send's `attachments`, after the schema has checked its shape. */
export type RequestedAttachment =
  | { readonly kind: "upload"; readonly id: string }
  | {
      readonly kind: "direct";
      readonly filename: string;
      readonly contentType: string;
      /** Base64 as it was sent: neither decoded nor checked. */
      readonly content: string;
      /** The id by which the html refers to it. */
      readonly contentId?: string;
    };

/** A file that can be sent, and where its bytes are now. */
export interface ResolvedAttachment {
  readonly filename: string;
  readonly contentType: string;
  readonly bytes: number;
  readonly contentId?: string;
  readonly source:
    | {
        readonly kind: "upload";
        readonly id: string;
        readonly folder: ContentFolder;
        readonly sha256: string;
      }
    | { readonly kind: "direct"; readonly content: Uint8Array };
}

export type AttachmentsOutcome =
  | { readonly kind: "resolved"; readonly attachments: readonly ResolvedAttachment[] }
  | {
      readonly kind: "refused";
      readonly code: AttachmentRefusal;
      /** A JSON Pointer (RFC 6901) into the request's body, and what is wrong there. */
      readonly pointer: string;
      readonly message: string;
    };

interface Fault {
  readonly code: AttachmentRefusal;
  readonly message: string;
  /** Which member of a direct file is at fault; an upload has none. */
  readonly member?: FileFault["member"];
}

/** The members of a direct file, as requests name them. */
export const DIRECT_MEMBERS = {
  filename: "filename",
  contentType: "content_type",
  bytes: "content",
} as const;

type Uploads = ReadonlyMap<string, Attachment>;

function refused({ code, message }: Fault, pointer: string): AttachmentsOutcome {
  return { kind: "refused", code, pointer, message };
}

/** Resolves and checks every file of a send, in order. Returns all of them, or the first fault found. */
export async function resolveAttachments(
  deps: Dependencies,
  workspaceId: string,
  requested: readonly RequestedAttachment[],
): Promise<AttachmentsOutcome> {
  if (requested.length > ATTACHMENTS_MAX) {
    const message = `holds more than ${ATTACHMENTS_MAX} files`;
    return refused({ code: "ATTACHMENT_LIMIT_EXCEEDED", message }, "/attachments");
  }
  const uploads = await readUploads(deps, workspaceId, requested);
  const unknown = requested.findIndex((file) => file.kind === "upload" && !uploads.has(file.id));
  if (unknown >= 0) {
    const message = "is not an upload of this workspace";
    return refused({ code: "INVALID_REQUEST", message }, `/attachments/${unknown}`);
  }
  const tooLarge = sizeRefusal(requested, uploads);
  if (tooLarge) return tooLarge;
  const limits = await readWorkspaceLimits(deps, workspaceId);
  const attachments: ResolvedAttachment[] = [];
  for (const [index, file] of requested.entries()) {
    const found =
      file.kind === "upload"
        ? resolveUpload(deps, file.id, uploads)
        : await resolveDirect(deps, { workspaceId, limits }, file);
    if ("code" in found) return refused(found, pointerTo(index, found));
    attachments.push(found);
  }
  return { kind: "resolved", attachments };
}

function pointerTo(index: number, { member }: Pick<Fault, "member">): string {
  return `/attachments/${index}${member === undefined ? "" : `/${DIRECT_MEMBERS[member]}`}`;
}

/** Reads uploads from their own streams, so one that was checked a moment ago can be used at once. */
async function readUploads(
  deps: Dependencies,
  workspaceId: string,
  requested: readonly RequestedAttachment[],
): Promise<Uploads> {
  const ids = new Set(requested.flatMap((file) => (file.kind === "upload" ? [file.id] : [])));
  const found = await Promise.all(
    [...ids].map(async (id) => [id, await readAttachment(deps, workspaceId, id)] as const),
  );
  return new Map(found.filter((entry): entry is [string, Attachment] => entry[1] !== null));
}

/** Checks sizes before anything is decoded: the length of Base64 gives the number of bytes it decodes to. */
function sizeRefusal(requested: readonly RequestedAttachment[], uploads: Uploads): AttachmentsOutcome | null {
  let total = 0;
  for (const [index, file] of requested.entries()) {
    const bytes = file.kind === "upload" ? (uploads.get(file.id)?.bytes ?? 0) : base64Bytes(file.content);
    if (bytes > FILE_BYTES_MAX) {
      const message = `is over ${grouped(FILE_BYTES_MAX)} bytes`;
      const member = file.kind === "direct" ? { member: "bytes" as const } : {};
      return refused({ code: "ATTACHMENT_LIMIT_EXCEEDED", message }, pointerTo(index, member));
    }
    total += bytes;
  }
  if (total <= ATTACHMENTS_BYTES_MAX) return null;
  const message = `is over ${grouped(ATTACHMENTS_BYTES_MAX)} bytes in all`;
  return refused({ code: "ATTACHMENT_LIMIT_EXCEEDED", message }, "/attachments");
}

function resolveUpload(deps: Dependencies, id: string, uploads: Uploads): ResolvedAttachment | Fault {
  const upload = uploads.get(id);
  invariant(upload, "unknown uploads were refused before");
  const { workspaceId, filename, contentType, bytes, sha256, status } = upload;
  // What counts is its expiry time, not when the clean-up got to it.
  if (status === "expired" || deps.clock.now() >= upload.expiresAt) {
    return { code: "ATTACHMENT_EXPIRED", message: "is no longer retained" };
  }
  if (status === "pending") return { code: "ATTACHMENT_NOT_READY", message: "has not been checked yet" };
  if (status === "rejected") {
    return { code: "ATTACHMENT_INVALID", message: `was rejected: ${upload.rejectionReason}` };
  }
  invariant(filename !== null && sha256 !== null, "an upload that is ready was not erased");
  const folder = uploadFolder(workspaceId, id);
  return { filename, contentType, bytes, source: { kind: "upload", id, folder, sha256 } };
}

async function resolveDirect(
  { inspector }: Dependencies,
  { workspaceId, limits }: { readonly workspaceId: string; readonly limits: WorkspaceLimits },
  file: Extract<RequestedAttachment, { kind: "direct" }>,
): Promise<ResolvedAttachment | FileFault> {
  const filename = normalizedFilename(file.filename);
  const { contentType } = file;
  const misnamed = fileFaultOf(inspector.inspectName({ filename, contentType }, limits));
  if (misnamed) return misnamed;
  const content = decodeFile(file.content);
  if ("code" in content) return content;
  const inspected = { filename, contentType, bytes: content };
  const fault = fileFaultOf(await inspector.inspect(inspected, limits, workspaceId));
  if (fault) return fault;
  const named = file.contentId === undefined ? {} : { contentId: file.contentId };
  return { filename, contentType, bytes: content.byteLength, ...named, source: { kind: "direct", content } };
}
