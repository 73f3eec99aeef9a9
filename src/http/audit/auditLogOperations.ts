import { Type } from "@sinclair/typebox";
import { WORKSPACE_ACTIONS } from "../../../projections/auditLog/auditActions.ts";
import { AUDIT_ACTOR, AUDIT_ACTOR_FORMS, AUDIT_ACTORS } from "../../../projections/auditLog/auditActors.ts";
import { OneOf, Text } from "../body/commonSchemas.ts";
import { withErrorText } from "../body/validation.ts";
import { answersPage, CREATED_RANGE } from "../lists/listOperation.ts";
import { operationsOf } from "../server/operation.ts";
import { AuditEntry, AuditTarget } from "./auditEntryResource.ts";

const FILTER_CHARACTERS_MAX = 100;

const Actor = withErrorText(
  `must be ${AUDIT_ACTOR_FORMS}`,
  Type.String({
    pattern: AUDIT_ACTOR.source,
    description: `The id of an API key, or ${AUDIT_ACTORS.map((actor) => `\`${actor}\``).join(", ")}.`,
  }),
);

const filters = {
  action: Type.Optional(OneOf(WORKSPACE_ACTIONS)),
  actor: Type.Optional(Actor),
  target_type: Type.Optional(AuditTarget),
  target_id: Type.Optional(Text({ minLength: 1, maxLength: FILTER_CHARACTERS_MAX })),
  ...CREATED_RANGE,
};

export const auditLogOperations = operationsOf("Workspace", {
  listAuditLog: {
    summary: "List who did what",
    description:
      "Newest first: what keys, the command line and the service itself did to keys, senders, templates, webhook " +
      "endpoints, limits, suppressions, erasures and the workspace; and messages that were canceled or erased and uploads " +
      "that were deleted on request. Sends are in the list of messages.",
    ...answersPage(AuditEntry, filters),
  },
});
