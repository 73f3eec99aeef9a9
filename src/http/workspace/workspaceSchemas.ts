import { Type } from "@sinclair/typebox";
import { DateTime, NoQuery, Nullable, Uuid } from "../body/commonSchemas.ts";
import type { Operations } from "../server/operation.ts";

const Count = (description: string) => Type.Integer({ minimum: 0, description });

const Limits = Type.Object(
  {
    messages_per_day: Count("Messages that are accepted on a UTC day."),
    storage_bytes: Count(
      "Bytes of temporary files: uploads, and direct files of messages, until the message has ended and " +
        "attachment_retention_hours have passed since it was accepted.",
    ),
    content_bytes: Count(
      "Bytes of the content of messages, as JSON, until it is erased, and of the sources of templates. Counted " +
        "within a few seconds; what reaches the limit is still taken, what comes after it is not.",
    ),
    key_requests_per_second: Nullable(
      Count("Requests a second with one API key, on each instance; null: no limit."),
    ),
    workspace_requests_per_second: Nullable(
      Count("Requests a second with all keys of the workspace, on each instance; null: no limit."),
    ),
    attachment_retention_hours: Count("Hours for which an uploaded file is kept."),
    content_retention_days: Count(
      "Days after its acceptance for which the content of a message is kept; one that has not ended keeps it until then.",
    ),
    archive_attachments: Type.Boolean({ description: "Whether zip, eml, p7s and pkpass files are taken." }),
  },
  { additionalProperties: false, description: "Set by whoever runs the service." },
);

const Usage = Type.Object(
  {
    messages_today: Count("Messages accepted on this UTC day, suppressed ones as well. May be a moment old."),
    storage_bytes: Count("Bytes that temporary files hold now."),
    content_bytes: Count(
      "Bytes that content of messages and sources of templates hold. May be a moment old.",
    ),
  },
  { additionalProperties: false },
);

const Workspace = Type.Object(
  {
    id: Uuid,
    object: Type.Literal("workspace"),
    name: Type.String(),
    sending: Type.Union([Type.Literal("active"), Type.Literal("paused")]),
    paused_at: Nullable(Type.String({ format: "date-time", description: "Null while sending is active." })),
    limits: Limits,
    usage: Usage,
    created_at: DateTime,
  },
  { additionalProperties: false },
);

const tag = "Workspace";
const answer = { query: NoQuery, success: { status: 200, schema: Workspace }, problems: [] } as const;

export const workspaceOperations = {
  getWorkspace: {
    summary: "Read the key's workspace",
    description: "Its state, its limits and what is used of them.",
    tag,
    ...answer,
  },
  pauseSending: {
    summary: "Pause sending",
    description:
      "New sends get SENDING_PAUSED, what is queued waits, and the time does not count against it. At once here, " +
      "within a second on other instances. A repeat changes nothing.",
    tag,
    ...answer,
  },
  resumeSending: {
    summary: "Resume sending",
    description: "What waited goes on. A repeat changes nothing.",
    tag,
    ...answer,
  },
} satisfies Operations;
