import { type EpochMs, HOUR_MS, rfc3339 } from "../../kernel/time.ts";
import type { Dependencies } from "../dependencies.ts";
import { readWorkspaceLimits } from "../workspace/readWorkspaceLimits.ts";

/**
 * Until when the files of a message accepted at `at` are kept. The retention is the workspace's at acceptance: a later
 * setting applies to later messages.
 */
export async function attachmentsUntil(
  deps: Dependencies,
  workspaceId: string,
  at: EpochMs,
): Promise<string> {
  const { attachmentRetentionHours } = await readWorkspaceLimits(deps, workspaceId);
  return rfc3339(at + attachmentRetentionHours * HOUR_MS);
}
