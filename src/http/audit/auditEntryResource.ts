import { Type } from "@sinclair/typebox";
import { AUDIT_TARGETS } from "../../../projections/auditLog/auditActions.ts";
import { AUDIT_ACTORS } from "../../../projections/auditLog/auditActors.ts";
import { AnyName, Closed, DateTime, FreeText, Nullable, OneOf } from "../body/commonSchemas.ts";
import { jsonOfSchema } from "../body/jsonOfSchema.ts";

export const AuditTarget = OneOf(AUDIT_TARGETS);

export const AuditEntry = Closed(
  {
    id: Type.String(),
    object: Type.Literal("audit_entry"),
    action: FreeText(
      "What was done, such as `api_key.issued`, `sender.disabled`, `template.version_published`, `webhook_endpoint.secret_rotated`, `limits.changed`, `sending.paused`, `suppression.added`, `erasure.requested`. New ones may join.",
    ),
    actor: Closed({
      type: OneOf(["api_key", ...AUDIT_ACTORS], {
        description:
          "`command_line`: an operator; `verification_link`: whoever opened the link in a verification mail; `system`: the service by itself.",
      }),
      id: Nullable(FreeText("Of the API key.")),
      name: Nullable(FreeText("Of the API key.")),
      person: Nullable(FreeText("Who logs in with the API key; null: whoever has its secret.")),
    }),
    target: Closed({
      type: AuditTarget,
      id: Nullable(Type.String()),
      label: Nullable(
        FreeText(
          "What people call it: a name, a sender's address or domain, an endpoint's host, with its port if it has one. Null where it has none, and for what can be erased.",
        ),
      ),
    }),
    request_id: FreeText("The X-Request-Id of the request that did it."),
    details: Type.Record(AnyName, Type.Unknown(), {
      description:
        "What else there is to say, by action. `previous_label`: what the target was called before, if the action changed that.",
    }),
    created_at: DateTime,
  },
  {
    $id: "AuditEntry",
    description: "Who did what to what a workspace is made of. What the log no longer holds is not in it.",
  },
);

export const auditEntryJson = jsonOfSchema(AuditEntry);
