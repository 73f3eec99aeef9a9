import { Elysia } from "elysia";
import { type AuditQuery, type AuditRow, listAuditLog } from "../../../projections/auditLog.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { readSender } from "../../commands/sender/readSender.ts";
import { dateTime } from "../body/dateTimeText.ts";
import { findPage, type ReadModel, whenCaughtUp } from "../lists/caughtUpReads.ts";
import { decodeCursor, pageItems } from "../lists/cursorPaging.ts";
import { authorize } from "../server/authorization.ts";
import { principalOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";
import { ListAuditLogQuery } from "./auditLogSchemas.ts";

interface AuditLogOptions {
  readonly deps: Dependencies;
  /** The read model `audit-log`. */
  readonly auditLog: ReadModel;
}

/** Who did what in the key's workspace. */
export function auditLogController({ deps, auditLog }: AuditLogOptions) {
  return new Elysia({ normalize: false }).get(
    routes.listAuditLog.path,
    async ({ query, request }) => {
      const { workspaceId } = principalOf(request);
      await whenCaughtUp(auditLog);
      const { shown, nextCursor } = await findPage(auditLog, auditQuery(workspaceId, query), listAuditLog);
      // A sender's address is in its own stream only.
      const data = await auditLog.scheduler.mapEach(shown, async (row) =>
        auditEntryJson(await withSender(deps, workspaceId, row)),
      );
      return { data, next_cursor: nextCursor };
    },
    { transform: authorize(deps, routes.listAuditLog), query: ListAuditLogQuery },
  );
}

function auditQuery(workspaceId: string, query: ListAuditLogQuery): AuditQuery {
  const { action, actor, target_type: targetType, target_id: targetId, cursor } = query;
  const { created_from: since, created_before: before } = query;
  return {
    workspaceId,
    limit: pageItems(query.limit),
    ...(action === undefined ? {} : { action }),
    ...(actor === undefined ? {} : { actor }),
    ...(targetType === undefined ? {} : { targetType }),
    ...(targetId === undefined ? {} : { targetId }),
    ...(since === undefined ? {} : { createdFrom: dateTime("/created_from", since) }),
    ...(before === undefined ? {} : { createdBefore: dateTime("/created_before", before) }),
    ...(cursor === undefined ? {} : { after: decodeCursor(cursor) }),
  };
}

async function withSender(deps: Dependencies, workspaceId: string, row: AuditRow): Promise<AuditRow> {
  const { type, id } = row.target;
  if (type !== "sender" || id === null) return row;
  const label = (await readSender(deps, workspaceId, id))?.sender.name ?? null;
  return { ...row, target: { type, id, label } };
}

function auditEntryJson({ id, action, actor, target, requestId, details, createdAt }: AuditRow) {
  return {
    id,
    object: "audit_entry",
    action,
    actor,
    target,
    request_id: requestId,
    details,
    created_at: createdAt,
  };
}
