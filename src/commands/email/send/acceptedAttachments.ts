import type { Acceptance } from "../../../domain/email/events.ts";
import type { CommandContext } from "../../../kernel/event/commandContext.ts";
import { HOUR_MS, rfc3339 } from "../../../kernel/time.ts";
import type { Dependencies } from "../../dependencies.ts";
import { readWorkspaceLimits } from "../../workspace/readWorkspaceLimits.ts";
import type { ResolvedAttachment } from "./resolveAttachments.ts";

/** What an acceptance keeps about its files for good; nothing if there are none. */
export type AcceptedAttachments = Pick<
  Acceptance,
  "attachmentBytes" | "directBytes" | "attachmentsUntil" | "uploadIds"
>;

interface FilesOfSend {
  readonly workspaceId: string;
  readonly resolved: readonly ResolvedAttachment[];
  readonly context: CommandContext;
}

/** Bytes that count against the storage quota: a message's direct files. Uploads already count as uploads. */
export function directBytes(attachments: readonly ResolvedAttachment[]): number {
  return attachments.reduce((sum, { source, bytes }) => sum + (source.kind === "direct" ? bytes : 0), 0);
}

/** What the acceptance of a send keeps about its files. */
export async function acceptedAttachments(
  deps: Dependencies,
  send: FilesOfSend,
): Promise<AcceptedAttachments> {
  const { resolved, workspaceId, context } = send;
  if (resolved.length === 0) return {};
  // A later setting of the workspace applies to later messages.
  const { attachmentRetentionHours } = await readWorkspaceLimits(deps, workspaceId);
  const uploads = new Set(resolved.flatMap(({ source }) => (source.kind === "upload" ? [source.id] : [])));
  return {
    attachmentBytes: resolved.reduce((sum, { bytes }) => sum + bytes, 0),
    // This is released once the files are gone.
    directBytes: directBytes(resolved),
    attachmentsUntil: rfc3339(context.at + attachmentRetentionHours * HOUR_MS),
    ...(uploads.size === 0 ? {} : { uploadIds: [...uploads] }),
  };
}
