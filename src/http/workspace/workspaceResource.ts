import { Type } from "@sinclair/typebox";
import type { readWorkspace } from "../../commands/workspace/readWorkspace.ts";
import { pauseReason } from "../../domain/workspace/sendingRates.ts";
import { pausedSince } from "../../domain/workspace/state.ts";
import type { WorkspaceLimits } from "../../domain/workspace/workspaceLimits.ts";
import { rfc3339 } from "../../kernel/time.ts";
import {
  Closed,
  Count,
  DateTime,
  Nullable,
  OneOf,
  type ResponseOf,
  Time,
  Uuid,
} from "../body/commonSchemas.ts";
import { jsonOfSchema } from "../body/jsonOfSchema.ts";

const Limits = Closed(
  {
    messages_per_day: Count(
      "Messages that are accepted on a UTC day; test mail and mail to the simulator do not count.",
    ),
    storage_bytes: Count(
      "Bytes of temporary files: uploads, and direct files of messages, until the message has ended and " +
        "attachment_retention_hours have passed since it was accepted. Direct files of test mail have as much room " +
        "of their own.",
    ),
    content_bytes: Count(
      "Bytes of the content of messages, as JSON, until it is erased, and of the sources of templates. Counted " +
        "within a few seconds; what reaches the limit is still taken, what comes after it is not. Test mail has " +
        "as much room of its own.",
    ),
    key_requests_per_second: Nullable(
      Count("Requests a second with one API key, on each instance; null: no limit."),
    ),
    workspace_requests_per_second: Nullable(
      Count("Requests a second with all keys of the workspace, on each instance; null: no limit."),
    ),
    attachment_retention_hours: Count("Hours for which an uploaded file is kept."),
    content_retention_days: Count(
      "Days after its acceptance, or its scheduled time, for which the content of a message is kept; one that has not ended keeps it until then.",
    ),
    archive_attachments: Type.Boolean({ description: "Whether zip, eml, p7s and pkpass files are taken." }),
  },
  { description: "Set by whoever runs the service." },
);

const wholeLimitsJson = jsonOfSchema(Limits);

/** The limits of a workspace, as the API and the command line show them. */
export function limitsJson(limits: WorkspaceLimits) {
  return wholeLimitsJson({
    ...limits,
    keyRequestsPerSecond: limits.keyRequestsPerSecond || null,
    workspaceRequestsPerSecond: limits.workspaceRequestsPerSecond || null,
  });
}

const Usage = Closed({
  messages_today: Count(
    "Messages of this UTC day as messages_per_day counts them: suppressed ones too, but no test mail and no mail to " +
      "the simulator. Includes what other instances have reserved and not returned, at most 256 messages each.",
  ),
  storage_bytes: Count("Bytes that temporary files hold now."),
  content_bytes: Count("Bytes that content of messages and sources of templates hold. May be a moment old."),
  test_storage_bytes: Count("Bytes that direct files of test mail hold now."),
  test_content_bytes: Count("Bytes that content of test mail holds. May be a moment old."),
});

export const Workspace = Closed(
  {
    id: Uuid,
    object: Type.Literal("workspace"),
    name: Type.String(),
    sending: OneOf(["active", "paused"]),
    paused_at: Nullable(Time("Null while sending is active.")),
    pause_reason: Nullable(
      Type.String({
        description:
          "Why the service paused it by itself, for people: a bounce or complaint rate. Null if somebody asked for the pause, and while sending is active.",
      }),
    ),
    limits: Limits,
    usage: Usage,
    created_at: DateTime,
  },
  { $id: "Workspace" },
);

export type WorkspaceUsage = ResponseOf<typeof Usage>;

export function workspaceJson(
  id: string,
  { workspace, createdAt }: NonNullable<Awaited<ReturnType<typeof readWorkspace>>>,
  limits: WorkspaceLimits,
  usage: WorkspaceUsage,
): ResponseOf<typeof Workspace> {
  const pausedAt = pausedSince(workspace);
  return {
    id,
    object: "workspace",
    name: workspace.name,
    sending: workspace.paused ? "paused" : "active",
    paused_at: pausedAt === null ? null : rfc3339(pausedAt),
    pause_reason: pauseReason(workspace),
    limits: limitsJson(limits),
    usage,
    created_at: createdAt,
  };
}
