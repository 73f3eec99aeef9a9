import { type Static, Type } from "@sinclair/typebox";
import { AUDIT_ACTORS, AUDIT_TARGETS } from "../../../projections/auditLog.ts";
import { AnyName, Cursor, DateTime, Limit, Nullable, pageSchema, Text } from "../body/commonSchemas.ts";
import type { Operations } from "../server/operation.ts";

const FILTER_CHARACTERS_MAX = 100;

const Target = Type.Union(AUDIT_TARGETS.map((target) => Type.Literal(target)));

export const ListAuditLogQuery = Type.Object(
  {
    action: Type.Optional(
      Text({ minLength: 1, maxLength: FILTER_CHARACTERS_MAX, description: "Such as `api_key.revoked`." }),
    ),
    actor: Type.Optional(
      Text({
        minLength: 1,
        maxLength: FILTER_CHARACTERS_MAX,
        description: `The id of an API key, or ${AUDIT_ACTORS.map((actor) => `\`${actor}\``).join(", ")}.`,
      }),
    ),
    target_type: Type.Optional(Target),
    target_id: Type.Optional(Text({ minLength: 1, maxLength: FILTER_CHARACTERS_MAX })),
    created_from: Type.Optional(Type.String({ description: "RFC 3339." })),
    created_before: Type.Optional(Type.String({ description: "RFC 3339." })),
    limit: Type.Optional(Limit),
    cursor: Type.Optional(Cursor),
  },
  { additionalProperties: false },
);
export type ListAuditLogQuery = Static<typeof ListAuditLogQuery>;

const AuditEntry = Type.Object(
  {
    id: Type.String(),
    object: Type.Literal("audit_entry"),
    action: Type.String({
      description:
        "What was done, such as `api_key.issued`, `sender.disabled`, `template.version_published`, `webhook_endpoint.secret_rotated`, `limits.changed`, `sending.paused`, `suppression.added`, `erasure.requested`. New ones may join.",
    }),
    actor: Type.Object(
      {
        type: Type.Union(
          ["api_key", ...AUDIT_ACTORS].map((type) => Type.Literal(type)),
          {
            description:
              "`command_line`: an operator; `verification_link`: whoever opened the link in a verification mail; `system`: the service by itself.",
          },
        ),
        id: Nullable(Type.String({ description: "Of the API key." })),
        name: Nullable(Type.String({ description: "Of the API key." })),
      },
      { additionalProperties: false },
    ),
    target: Type.Object(
      {
        type: Target,
        id: Nullable(Type.String()),
        label: Nullable(
          Type.String({
            description:
              "What people call it: a name, a sender's address or domain, the host of an endpoint. Null where it has none, and for what can be erased.",
          }),
        ),
      },
      { additionalProperties: false },
    ),
    request_id: Type.String({ description: "The X-Request-Id of the request that did it." }),
    details: Type.Record(AnyName, Type.Unknown(), { description: "What else there is to say, by action." }),
    created_at: DateTime,
  },
  {
    $id: "AuditEntry",
    additionalProperties: false,
    description: "Who did what to what a workspace is made of. What the log no longer holds is not in it.",
  },
);

export const auditLogOperations = {
  listAuditLog: {
    summary: "List who did what",
    description:
      "Newest first: what keys, the command line and the service itself did to keys, senders, templates, webhook " +
      "endpoints, limits, suppressions, erasures and the workspace; and messages that were canceled or erased and uploads " +
      "that were deleted on request. Sends are in the list of messages.",
    tag: "Workspace",
    query: ListAuditLogQuery,
    success: { status: 200, schema: pageSchema(AuditEntry) },
    problems: ["INVALID_REQUEST"],
  },
} satisfies Operations;
