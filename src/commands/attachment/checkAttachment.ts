import { type CheckResult, settleCheck } from "../../domain/attachment/decisions.ts";
import type { Attachment } from "../../domain/attachment/state.ts";
import { invariant } from "../../kernel/assert.ts";
import { unlessAborted } from "../../kernel/concurrency/unlessAborted.ts";
import type { CommandContext } from "../../kernel/event/commandContext.ts";
import { attachmentAggregate } from "../aggregateDefinitions.ts";
import type { Dependencies } from "../dependencies.ts";
import { load, transact } from "../transact.ts";
import { readWorkspaceLimits } from "../workspace/readWorkspaceLimits.ts";
import { removeUploadFiles } from "./deleteAttachment.ts";
import { fileFaultOf } from "./fileFaults.ts";
import { uploadFolder } from "./readAttachment.ts";

/**
 * Inspects a pending upload and records the result. Several checks may run at once: the first one recorded counts.
 * Throws `StoreError`, also if the malware scanner is unavailable, and the reason of `stopping` if that aborts during the
 * inspection: the upload then stays pending.
 */
export async function checkAttachment(
  deps: Dependencies,
  id: string,
  context: CommandContext,
  stopping: AbortSignal,
): Promise<void> {
  const aggregate = attachmentAggregate.of(id);
  const { state } = await load(deps.store, aggregate);
  if (state?.status !== "pending") return;
  const result = await unlessAborted(stopping, look(deps, id, state));
  await transact(deps.store, aggregate, (now) => settleCheck(now, result), context);
  if (result.kind === "rejected") await removeUploadFiles(deps, id, context);
}

async function look(deps: Dependencies, id: string, attachment: Attachment): Promise<CheckResult> {
  const { workspaceId, sha256, filename, contentType } = attachment;
  invariant(sha256 !== null && filename !== null, "an upload that waits for its check was not erased");
  const bytes = await deps.content.get(uploadFolder(workspaceId, id), sha256);
  if (bytes === null) {
    return { kind: "rejected", code: "ATTACHMENT_INVALID", reason: "its bytes are no longer there" };
  }
  const limits = await readWorkspaceLimits(deps, workspaceId);
  const file = { filename, contentType, bytes };
  const fault = fileFaultOf(await deps.inspector.inspect(file, limits, workspaceId));
  return fault === null ? { kind: "clean" } : { kind: "rejected", code: fault.code, reason: fault.message };
}
