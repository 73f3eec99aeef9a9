/** @jsxImportSource hono/jsx */

import { AUDIT_TARGETS, WORKSPACE_ACTIONS } from "../../../../projections/auditLog/auditActions.ts";
import { AUDIT_ACTOR, AUDIT_ACTOR_FORMS } from "../../../../projections/auditLog/auditActors.ts";
import type { AuditQuery, AuditRow } from "../../../../projections/auditLog/queries.ts";
import { suppressionOf } from "../../../../projections/suppressions.ts";
import { readSuppressionAt } from "../../../commands/suppression/readSuppression.ts";
import { parseDateTime, rfc3339 } from "../../../kernel/time.ts";
import { pageOfAuditLog } from "../../audit/auditLogController.ts";
import { catchUpIfInTime, lookUpEach, scheduledRead } from "../../lists/caughtUpReads.ts";
import type { Page as RowPage } from "../../lists/cursorPaging.ts";
import { Problem } from "../../server/problem.ts";
import { type CsvColumns, csvResponse } from "../components/csvStream.ts";
import { catchUp } from "../email/loadEmailRows.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext } from "../frame/dashboardRoute.ts";
import { pageAsked } from "../frame/listPaging.ts";
import { AUDIT_FILTERS, type AuditFilter, AuditLog } from "./auditLogPage.tsx";

const FILTER_CHARACTERS_MAX = 100;
const SCOPE = "workspace:manage";

type Options = Pick<DashboardOptions, "deps" | "readModel">;

/** Who did what in the workspace: as a page, and as a CSV file. */
export function auditLogRoutes(options: Options): readonly DashboardRoute[] {
  return [
    get("/audit", SCOPE, (context) => auditLogPage(options, context)),
    get("/audit/log.csv", SCOPE, (context) => csv(options, context)),
  ];
}

async function auditLogPage(options: Options, context: PageContext): Promise<Page> {
  const filter = filterOf(context.query);
  const { query, fault } = queryOf(context.workspaceId, filter);
  if (!context.query.has("cursor")) await catchUp(options.readModel("audit-log"));
  const found = fault === null ? await pageOfAuditLog(options, { ...query, ...pageAsked(context) }) : NOTHING;
  const page = await lookUpEach(options.readModel("audit-log"), found, async (row) => {
    const label = (await nameOf(options, context, row)) ?? row.target.label;
    return { ...row, target: { ...row.target, label } };
  });
  return {
    title: "Audit log",
    isWide: true,
    status: fault === null ? 200 : 422,
    body: <AuditLog context={context} page={page} filter={filter} fault={fault} />,
  };
}

/** What a target is called where the session may see it: the URL of an endpoint, the address of a suppression. */
async function nameOf(
  { deps, readModel }: Options,
  { workspaceId, may }: PageContext,
  { createdAt, target: { type, id } }: AuditRow,
): Promise<string | null> {
  if (id === null) return null;
  if (type === "webhook_endpoint" && may("webhook:manage"))
    return (await deps.webhooks.get(workspaceId)).endpoints.get(id)?.url ?? null;
  if (type !== "suppression" || !may("suppression:manage")) return null;
  const began = { id, createdAt };
  const found = await scheduledRead(readModel("suppressions"), (db) => suppressionOf(db, workspaceId, began));
  return found && (await readSuppressionAt(deps.store, found)).address;
}

const NOTHING: RowPage<AuditRow> = { shown: [], nextCursor: null };

function filterOf(query: URLSearchParams): AuditFilter {
  const values = AUDIT_FILTERS.map((name) => [
    name,
    (query.get(name) ?? "").trim().slice(0, FILTER_CHARACTERS_MAX),
  ]);
  return Object.fromEntries(values) as AuditFilter;
}

interface ParsedFilter {
  readonly query: Omit<AuditQuery, "limit"> & { readonly workspaceId: string };
  readonly fault: string | null;
}

function queryOf(workspaceId: string, filter: AuditFilter): ParsedFilter {
  const { action, actor, target_type: targetType, target_id: targetId } = filter;
  const isOneOf = (values: readonly string[], text: string) => text === "" || values.includes(text);
  const [createdFrom, createdBefore] = [dayOf(filter.from), dayOf(filter.before)];
  const wanted = { action, actor, targetType, targetId, createdFrom, createdBefore };
  const given = Object.entries(wanted).filter(([, value]) => value);
  const query = { workspaceId, ...Object.fromEntries(given) };
  if (createdFrom === null || createdBefore === null)
    return { query, fault: "A day is written as 2026-11-22." };
  if (actor !== "" && !AUDIT_ACTOR.test(actor)) return { query, fault: `By takes ${AUDIT_ACTOR_FORMS}.` };
  const isKnown = isOneOf(AUDIT_TARGETS, targetType) && isOneOf(WORKSPACE_ACTIONS, action);
  return { query, fault: isKnown ? null : "There is nothing of that kind in the audit log." };
}

/** The beginning of a day in UTC; "" if none is given, null if it is not a day. */
function dayOf(text: string): string | null {
  if (text === "") return "";
  const at = /^\d{4}-\d{2}-\d{2}$/.test(text) ? parseDateTime(`${text}T00:00:00Z`) : null;
  return at === null ? null : rfc3339(at);
}

const COLUMNS: CsvColumns<AuditRow> = {
  id: ({ id }) => id,
  created_at: ({ createdAt }) => createdAt,
  action: ({ action }) => action,
  actor_type: ({ actor }) => actor.type,
  actor_id: ({ actor }) => actor.id,
  actor_name: ({ actor }) => actor.name,
  actor_person: ({ actor }) => actor.person,
  target_type: ({ target }) => target.type,
  target_id: ({ target }) => target.id,
  target_label: ({ target }) => target.label,
  request_id: ({ requestId }) => requestId,
  details: ({ details }) => JSON.stringify(details),
};

/** All matching entries; ends early if the key is revoked. */
async function csv(options: Options, context: PageContext): Promise<Response> {
  const { query, fault } = queryOf(context.workspaceId, filterOf(context.query));
  if (fault !== null) throw new Problem("INVALID_REQUEST", { detail: fault });
  // A file cannot be updated later.
  await catchUpIfInTime(options.readModel("audit-log"));
  return csvResponse(options.deps, context, "audit-log.csv", {
    page: "/audit",
    columns: COLUMNS,
    list: (asked) => pageOfAuditLog(options, { ...query, ...asked }),
  });
}
