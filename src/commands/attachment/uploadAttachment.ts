import { type AttachmentEvent, attachmentStream } from "../../domain/attachment/events.ts";
import { FILE_BYTES_MAX } from "../../domain/attachment/fileSizeLimit.ts";
import { type Attachment, attachmentDecider } from "../../domain/attachment/state.ts";
import { invariant } from "../../kernel/assert.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { newId } from "../../kernel/ids.ts";
import { grouped } from "../../kernel/text/readableNumbers.ts";
import { HOUR_MS, rfc3339 } from "../../kernel/time.ts";
import type { ContentFolder, ContentStore } from "../../ports/contentStore.ts";
import { StoreError } from "../../ports/eventStore.ts";
import type { Dependencies } from "../dependencies.ts";
import { contentAppendDeadline } from "../storage/contentAppendDeadline.ts";
import { DiskFullError, hasDiskSpace } from "../storage/diskFullError.ts";
import { toNewEvents } from "../transact.ts";
import { readWorkspaceLimits } from "../workspace/readWorkspaceLimits.ts";
import { EMPTY_FILE, type FileFault, fileFaultOf, normalizedFilename } from "./fileFaults.ts";
import { uploadFolder } from "./readAttachment.ts";

export interface UploadAttachment {
  readonly workspaceId: string;
  readonly filename: string;
  /** Null: the type of its extension. */
  readonly contentType: string | null;
  /** Its bytes as they arrive. An error from it is passed on, and nothing of the file is kept. */
  readonly chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  readonly context: CommandContext;
}

export type UploadOutcome =
  | { readonly kind: "uploaded"; readonly id: string; readonly attachment: Attachment }
  | {
      readonly kind: "refused";
      readonly code: FileFault["code"] | "STORAGE_LIMIT_EXCEEDED";
      readonly message: string;
      /** Which member of the file is at fault; null if the file itself is not. */
      readonly member: FileFault["member"] | null;
      /** Whether the same upload can never work, though the code says that it may. */
      readonly isPermanent?: boolean;
    };

/**
 * Streams a file into the content store, never whole in memory, then records it in the log, where it waits for its check.
 * A refused file leaves nothing behind. Throws `StoreError`; then no file is known to be kept.
 */
export async function uploadAttachment(deps: Dependencies, given: UploadAttachment): Promise<UploadOutcome> {
  const { workspaceId } = given;
  const limits = await readWorkspaceLimits(deps, workspaceId);
  const filename = normalizedFilename(given.filename);
  // A file whose extension has no type is refused for its extension.
  const contentType = given.contentType ?? deps.inspector.contentTypeOf(filename, limits) ?? "";
  const upload = { ...given, filename, contentType };
  const named = fileFaultOf(deps.inspector.inspectName({ filename, contentType }, limits));
  if (named) return { kind: "refused", ...named };
  if (!hasDiskSpace(deps)) throw new DiskFullError();
  const id = newId();
  const folder = uploadFolder(workspaceId, id);
  const requireInTime = contentAppendDeadline(deps.clock);
  const kept = await keep(deps.content, folder, upload.chunks);
  if ("code" in kept) return { kind: "refused", ...kept };
  return record(deps, upload, { id, folder, requireInTime, ...kept });
}

interface Kept {
  readonly sha256: string;
  readonly bytes: number;
}

interface KeptUpload extends Kept {
  readonly id: string;
  readonly folder: ContentFolder;
  /** See {@link contentAppendDeadline}. */
  readonly requireInTime: () => void;
}

/** Writes the bytes as they arrive; drops the file as soon as it is too large. */
async function keep(
  content: ContentStore,
  folder: ContentFolder,
  chunks: UploadAttachment["chunks"],
): Promise<Kept | FileFault> {
  const writer = await content.writer(folder);
  // If discarding fails, the sweeper removes the folder later, because no stream refers to it.
  const discard = async () => {
    await Promise.allSettled([writer.abort()]);
    await Promise.allSettled([content.removeOwner(folder)]);
  };
  try {
    let bytes = 0;
    for await (const chunk of chunks) {
      bytes += chunk.byteLength;
      if (bytes > FILE_BYTES_MAX) break;
      await writer.write(chunk);
    }
    if (bytes > 0 && bytes <= FILE_BYTES_MAX) return await writer.finish();
    await discard();
    return bytes === 0 ? EMPTY_FILE : tooLarge();
  } catch (error) {
    await discard();
    throw error;
  }
}

function tooLarge(): FileFault {
  return {
    code: "ATTACHMENT_LIMIT_EXCEEDED",
    message: `is over ${grouped(FILE_BYTES_MAX)} bytes`,
    member: "bytes",
  };
}

/** Reserves room for the file and begins its stream. If either fails, removes the bytes again. */
async function record(
  deps: Dependencies,
  upload: UploadAttachment & { readonly contentType: string },
  { id, folder, requireInTime, sha256, bytes }: KeptUpload,
): Promise<UploadOutcome> {
  const { workspaceId, filename, contentType, context } = upload;
  const stream = attachmentStream(id);
  try {
    const room = await deps.storage.reserve(workspaceId, stream, bytes, context);
    if (room !== "reserved") {
      await deps.content.removeOwner(folder);
      const message = `the storage quota has no room for ${bytes} bytes`;
      const isPermanent = room === "neverFits";
      return { kind: "refused", code: "STORAGE_LIMIT_EXCEEDED", message, member: null, isPermanent };
    }
    const limits = await readWorkspaceLimits(deps, workspaceId);
    const until = context.at + limits.attachmentRetentionHours * HOUR_MS;
    const times = { uploadedAt: rfc3339(context.at), expiresAt: rfc3339(until) };
    const data = { workspaceId, filename, contentType, bytes, sha256, ...times };
    const event: AttachmentEvent = { type: "AttachmentUploaded", data };
    requireInTime();
    const result = await deps.store.append(stream, toNewEvents([event], context), "noStream");
    invariant(result.outcome === "appended", "an upload's id is fresh");
    const attachment = attachmentDecider.evolve(null, event);
    invariant(attachment, "an upload begins its stream");
    return { kind: "uploaded", id, attachment };
  } catch (error) {
    // An upload that may be in the log keeps its bytes. If it is not there, the sweeper removes them later.
    const mayBeThere = error instanceof StoreError && error.failure === "outcomeUnknown";
    if (!mayBeThere) {
      const { content, storage } = deps;
      await Promise.allSettled([content.removeOwner(folder), storage.release(workspaceId, stream, context)]);
    }
    throw error;
  }
}
