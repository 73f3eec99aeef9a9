import { LIMIT_RANGES, type WorkspaceLimits } from "../../domain/workspace/workspaceLimits.ts";
import type { EnvironmentReader } from "./environmentReader.ts";

/** What a workspace may use unless it has limits of its own, retention included. */
export function readWorkspaceLimitsDefault(reader: EnvironmentReader): WorkspaceLimits {
  const limit = (variable: string, name: keyof typeof LIMIT_RANGES, fallback: number) =>
    reader.integer(variable, fallback, LIMIT_RANGES[name]);
  return {
    messagesPerDay: limit("LIMIT_MESSAGES_PER_DAY", "messagesPerDay", 1_000_000),
    storageBytes: limit("LIMIT_STORAGE_BYTES", "storageBytes", 1_000_000_000),
    contentBytes: limit("LIMIT_CONTENT_BYTES", "contentBytes", 50_000_000_000),
    keyRequestsPerSecond: limit("LIMIT_KEY_REQUESTS_PER_SECOND", "keyRequestsPerSecond", 2_000),
    workspaceRequestsPerSecond: limit(
      "LIMIT_WORKSPACE_REQUESTS_PER_SECOND",
      "workspaceRequestsPerSecond",
      4_000,
    ),
    attachmentRetentionHours: limit("ATTACHMENT_RETENTION_HOURS", "attachmentRetentionHours", 24),
    contentRetentionDays: limit("CONTENT_RETENTION_DAYS", "contentRetentionDays", 30),
    archiveAttachments: false,
  };
}
