import { LIMIT_RANGES, type WorkspaceLimits } from "../../domain/workspace/workspaceLimits.ts";
import type { EnvironmentReader } from "./environmentReader.ts";

type NumberName = keyof typeof LIMIT_RANGES;

/** The variable of each limit, and the limit if that is not set. */
export const LIMIT_SETTINGS: Readonly<Record<NumberName, readonly [variable: string, fallback: number]>> = {
  messagesPerDay: ["LIMIT_MESSAGES_PER_DAY", 1_000_000],
  storageBytes: ["LIMIT_STORAGE_BYTES", 1_000_000_000],
  contentBytes: ["LIMIT_CONTENT_BYTES", 50_000_000_000],
  keyRequestsPerSecond: ["LIMIT_KEY_REQUESTS_PER_SECOND", 2_000],
  workspaceRequestsPerSecond: ["LIMIT_WORKSPACE_REQUESTS_PER_SECOND", 4_000],
  attachmentRetentionHours: ["ATTACHMENT_RETENTION_HOURS", 24],
  contentRetentionDays: ["CONTENT_RETENTION_DAYS", 30],
};

/** What a workspace may use unless it has limits of its own, retention included. */
export function readWorkspaceLimitsDefault(reader: EnvironmentReader): WorkspaceLimits {
  const limits = Object.entries(LIMIT_SETTINGS).map(([name, [variable, fallback]]) => [
    name,
    reader.integer(variable, fallback, LIMIT_RANGES[name as NumberName]),
  ]);
  return { ...(Object.fromEntries(limits) as Record<NumberName, number>), archiveAttachments: false };
}
