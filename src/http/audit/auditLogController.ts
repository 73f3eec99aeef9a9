import { type AuditQuery, type AuditRow, listAuditLog } from "../../../projections/auditLog/queries.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { readSender } from "../../commands/sender/readSender.ts";
import { definedMembers } from "../../kernel/definedMembers.ts";
import { findPage, type ListSource, whenCaughtUp } from "../lists/caughtUpReads.ts";
import { createdRange, pageJson, pageRequest } from "../lists/cursorPaging.ts";
import { operationController } from "../server/operationController.ts";
import { principalOf } from "../server/requestContext.ts";
import { auditEntryJson } from "./auditEntryResource.ts";
import { auditLogOperations, type ListAuditLogQuery } from "./auditLogOperations.ts";

/** Who did what in the key's workspace. */
export function auditLogController({ deps, readModel }: ListSource) {
  const auditLog = readModel("audit-log");
  return operationController(deps, auditLogOperations, {
    listAuditLog: async ({ query, request }) => {
      const { workspaceId } = principalOf(request);
      await whenCaughtUp(auditLog);
      const { shown: rows, nextCursor } = await findPage(
        auditLog,
        auditQuery(workspaceId, query),
        listAuditLog,
      );
      const shown = await auditLog.scheduler.mapEach(rows, (row) => withSenderName(deps, workspaceId, row));
      return pageJson({ shown, nextCursor }, auditEntryJson);
    },
  });
}

function auditQuery(workspaceId: string, query: ListAuditLogQuery): AuditQuery {
  const { action, actor, target_type: targetType, target_id: targetId } = query;
  const filters = definedMembers({ action, actor, targetType, targetId });
  return { workspaceId, ...pageRequest(query), ...filters, ...createdRange(query) };
}

/** Adds the name of the sender that an entry is about, which is only in that sender's own stream. */
export async function withSenderName(
  deps: Pick<Dependencies, "store">,
  workspaceId: string,
  row: AuditRow,
): Promise<AuditRow> {
  const { type, id } = row.target;
  if (type !== "sender" || id === null) return row;
  const label = (await readSender(deps, workspaceId, id))?.sender.name ?? null;
  return { ...row, target: { type, id, label } };
}
