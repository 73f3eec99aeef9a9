import { type AuditQuery, type AuditRow, listAuditLog } from "../../../projections/auditLog/queries.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { readSender } from "../../commands/sender/readSender.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { findPage, type ListSource, lookUpEach, whenCaughtUp } from "../lists/caughtUpReads.ts";
import { createdRange, type Page, pageJson, pageRequest } from "../lists/cursorPaging.ts";
import { operationController } from "../server/operationController.ts";
import { auditEntryJson } from "./auditEntryResource.ts";
import { auditLogOperations } from "./auditLogOperations.ts";

/** Who did what in the key's workspace. */
export function auditLogController(source: ListSource) {
  return operationController(source.deps, auditLogOperations, {
    listAuditLog: async ({ query, caller: { workspaceId } }) => {
      await whenCaughtUp(source.readModel("audit-log"));
      const { action, actor, target_type: targetType, target_id: targetId } = query;
      const filters = omitUndefined({ action, actor, targetType, targetId });
      const wanted = { workspaceId, ...pageRequest(query), ...filters, ...createdRange(query) };
      return pageJson(await pageOfAuditLog(source, wanted), auditEntryJson);
    },
  });
}

/** One page of entries, with the names of senders. */
export async function pageOfAuditLog(
  { deps, readModel }: ListSource,
  query: AuditQuery & { readonly workspaceId: string },
): Promise<Page<AuditRow>> {
  const auditLog = readModel("audit-log");
  const rows = await findPage(auditLog, query, listAuditLog);
  return lookUpEach(auditLog, rows, (row) => withSenderName(deps, query.workspaceId, row));
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
