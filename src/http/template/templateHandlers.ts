import type { PageQuery } from "../../../projections/keysetPagination.ts";
import { countTemplates, listTemplates } from "../../../projections/templates.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { CONTENT_QUOTA_USED_UP } from "../../commands/storage/contentQuota.ts";
import {
  draftTemplateVersion,
  type NewTemplate,
  newTemplate,
} from "../../commands/template/manageTemplates.ts";
import {
  readTemplate,
  readTemplateVersion,
  type TemplateLocation,
  type VersionView,
} from "../../commands/template/readTemplate.ts";
import type { Template, TemplateVersion } from "../../domain/template/state.ts";
import {
  isTemplateLimit,
  TEMPLATE_LIMITS,
  type TemplateLimit,
} from "../../domain/template/templateLimits.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { epochMs } from "../../kernel/time.ts";
import { caughtUpPage, caughtUpRowsIfInTime, type ListSource } from "../lists/caughtUpReads.ts";
import { notACursor, type Page, pageOf } from "../lists/cursorPaging.ts";
import { found, idOfPath, Problem, refusedFor } from "../server/problem.ts";
import { type DraftVersionBody, draftRequest } from "./draftVersionRequest.ts";

const REFUSALS = {
  notFound: "NOT_FOUND",
  archived: "TEMPLATE_ARCHIVED",
} as const;

/** Throws `NOT_FOUND` if there is none in the workspace. */
export async function existingTemplate(deps: Dependencies, location: TemplateLocation): Promise<Template> {
  return found(await readTemplate(deps, location));
}

/** A version with its source. Throws `NOT_FOUND` if there is none. */
export async function existingVersion(
  deps: Dependencies,
  location: TemplateLocation,
  versionId: string,
): Promise<VersionView> {
  return found(await readTemplateVersion(deps, location, idOfPath(versionId)));
}

/** One page of a template's versions, the newest first. */
export function pageOfVersions({ versions }: Template, page: PageQuery): Page<TemplateVersion> {
  // By time, because a clock that went back may have mixed up the order.
  const newestFirst = versions
    .toReversed()
    .sort((one, other) => epochMs(other.createdAt) - epochMs(one.createdAt));
  return pageOf(page, ({ after, limit }) => {
    const start = after === undefined ? 0 : newestFirst.findIndex(({ id }) => id === after.id) + 1;
    if (after !== undefined && start === 0) throw notACursor();
    return newestFirst.slice(start, start + limit);
  });
}

/**
 * Creates a template, unless the same request has created it before. Throws `TEMPLATE_ALREADY_EXISTS` and
 * `TEMPLATE_LIMIT_REACHED`.
 */
export async function createOrRefuse(
  { deps, readModel }: ListSource,
  template: NewTemplate,
  context: WorkspaceCommandContext,
): Promise<{ readonly id: string; readonly isNew: boolean }> {
  const count = async () =>
    countTemplates(await caughtUpRowsIfInTime(readModel("templates")), context.workspaceId);
  const { templateId: id, outcome } = await newTemplate(deps, template, count, context);
  if (outcome === "aliasTaken") {
    const message = `is taken by the template ${id}, which has another name or is archived`;
    throw refusedFor("TEMPLATE_ALREADY_EXISTS", [{ pointer: "/alias", message }]);
  }
  requireWithinLimits(outcome);
  return { id, isNew: outcome === "created" };
}

function requireWithinLimits(outcome: string): void {
  if (isTemplateLimit(outcome))
    throw new Problem("TEMPLATE_LIMIT_REACHED", { detail: TEMPLATE_LIMITS[outcome] });
}

/** Throws the problem of a change to a template that was refused. */
export function requireChanged(
  outcome: "renamed" | "drafted" | "published" | TemplateLimit | keyof typeof REFUSALS,
): void {
  requireWithinLimits(outcome);
  if (outcome in REFUSALS) throw new Problem(REFUSALS[outcome as keyof typeof REFUSALS]);
}

/** Adds a version to a template and returns its id. Throws a problem that names all faults. */
export async function draftOrRefuse(
  deps: Dependencies,
  location: TemplateLocation,
  body: DraftVersionBody,
  context: WorkspaceCommandContext,
): Promise<string> {
  const { draft } = await draftRequest(deps, body, context);
  const { outcome, versionId } = await draftTemplateVersion(deps, location, draft, context);
  if (outcome === "quotaExceeded")
    throw new Problem("STORAGE_LIMIT_EXCEEDED", { detail: CONTENT_QUOTA_USED_UP });
  requireChanged(outcome);
  return versionId;
}

/** A page of a workspace's templates, newest first. */
export function pageOfTemplates({ readModel }: ListSource, workspaceId: string, request: PageQuery) {
  return caughtUpPage(readModel("templates"), request, (db, page) => listTemplates(db, workspaceId, page));
}
