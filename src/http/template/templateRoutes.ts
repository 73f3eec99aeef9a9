import { Elysia } from "elysia";
import { countTemplates, listTemplates } from "../../../projections/templates.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { CONTENT_ALLOWANCE_USED_UP } from "../../commands/storage/contentAllowance.ts";
import { queueStreamWrite } from "../../commands/streamWriteQueue.ts";
import { deleteTemplate } from "../../commands/template/deleteTemplate.ts";
import {
  draftTemplateVersion,
  newTemplate,
  publishTemplateVersion,
  readTemplate,
  readTemplateVersion,
  retireTemplate,
  type TemplateLocation,
  type VersionView,
  viewVersion,
} from "../../commands/template/manageTemplates.ts";
import { renderVersion } from "../../commands/template/renderForSend.ts";
import { TEMPLATES_MAX } from "../../domain/template/decisions.ts";
import { type Template, type TemplateVersion, templateStatus } from "../../domain/template/state.ts";
import { isUuid } from "../../kernel/ids.ts";
import { epochMs } from "../../kernel/time.ts";
import { checkBy, checkRules } from "../body/validation.ts";
import { caughtUpRows, caughtUpRowsIfInTime, type ReadModel } from "../lists/caughtUpReads.ts";
import { notACursor, pageJson, pageOf, pageRequest } from "../lists/cursorPaging.ts";
import { hooksOf } from "../server/operationHooks.ts";
import { Problem, refusedFor } from "../server/problem.ts";
import { commandContextOf, principalOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";
import { DraftVersionBody, draftRequest } from "./draftVersionRequest.ts";
import { type ListVersionsQuery, PreviewBody, templateOperations } from "./templateOperations.ts";
import { templateJson, versionJson } from "./templateResource.ts";

interface TemplatesOptions {
  readonly deps: Dependencies;
  /** The path of BASE_URL, "" or "/prefix": links begin with it. */
  readonly basePath: string;
  /** The read model `templates`. */
  readonly templates: ReadModel;
}

const REFUSALS = {
  notFound: "NOT_FOUND",
  archived: "TEMPLATE_ARCHIVED",
  limitReached: "TEMPLATE_LIMIT_REACHED",
} as const;

/** Templates: creating, reading, listing, archiving and deleting them. */
export function templatesController({ deps, basePath, templates }: TemplatesOptions) {
  const hooks = hooksOf(deps, templateOperations);
  return new Elysia({ normalize: false })
    .post(
      routes.createTemplate.path,
      async ({ body, request, set }) => {
        const { workspaceId } = principalOf(request);
        const context = commandContextOf(request, deps);
        // One after the other, so that each is counted before the next one is made.
        const id = await queueStreamWrite(deps.store, `templates of ${workspaceId}`, async () => {
          if (countTemplates(await caughtUpRowsIfInTime(templates), workspaceId) >= TEMPLATES_MAX) {
            const detail = `the workspace has ${TEMPLATES_MAX} templates: delete some that are no longer used`;
            throw new Problem("TEMPLATE_LIMIT_REACHED", { detail });
          }
          return newTemplate(deps, { workspaceId, name: body.name }, context);
        });
        set.status = 201;
        set.headers.location = `${basePath}/api/v1/templates/${id}`;
        return shownTemplate(deps, { workspaceId, templateId: id });
      },
      hooks("createTemplate"),
    )
    .get(
      routes.listTemplates.path,
      async ({ query, request }) => {
        const { workspaceId } = principalOf(request);
        const asked = pageRequest(query);
        const db = await caughtUpRows(templates);
        return pageJson(
          pageOf(asked, (page) => listTemplates(db, workspaceId, page)),
          templateJson,
        );
      },
      hooks("listTemplates"),
    )
    .get(
      routes.getTemplate.path,
      async ({ params, request }) => shownTemplate(deps, placeOf(request, params.id)),
      hooks("getTemplate"),
    )
    .delete(
      routes.deleteTemplate.path,
      async ({ params, request, set }) => {
        const outcome = await deleteTemplate(deps, idOf(params.id), commandContextOf(request, deps));
        if (outcome !== "deleted") throw new Problem("NOT_FOUND");
        set.status = 204;
      },
      hooks("deleteTemplate"),
    )
    .post(
      routes.archiveTemplate.path,
      async ({ params, request }) => {
        const place = placeOf(request, params.id);
        const outcome = await retireTemplate(deps, place, commandContextOf(request, deps));
        if (outcome !== "archived") throw new Problem(REFUSALS[outcome]);
        return shownTemplate(deps, place);
      },
      hooks("archiveTemplate"),
    )
    .use(versionsController(deps, basePath));
}

/** The versions of templates: drafting, reading, listing, publishing and previewing them. */
function versionsController(deps: Dependencies, basePath: string) {
  const hooks = hooksOf(deps, templateOperations);
  return new Elysia({ normalize: false })
    .post(
      routes.draftTemplateVersion.path,
      async ({ body, params, request, set }) => {
        const place = placeOf(request, params.id);
        const draft = draftRequest(deps.templateEngine, body);
        const context = commandContextOf(request, deps);
        const { outcome, versionId } = await draftTemplateVersion(deps, place, draft, context);
        if (outcome === "noRoom")
          throw new Problem("STORAGE_LIMIT_EXCEEDED", { detail: CONTENT_ALLOWANCE_USED_UP });
        if (outcome !== "drafted") throw new Problem(REFUSALS[outcome]);
        set.status = 201;
        set.headers.location = `${basePath}/api/v1/templates/${place.templateId}/versions/${versionId}`;
        return versionJson(place, await existing(deps, place, versionId));
      },
      hooks("draftTemplateVersion", { checkLarge: checkBy(DraftVersionBody) }),
    )
    .get(
      routes.listTemplateVersions.path,
      async ({ params, query, request }) => versionPage(deps, placeOf(request, params.id), query),
      hooks("listTemplateVersions"),
    )
    .get(
      routes.getTemplateVersion.path,
      async ({ params, request }) => {
        const place = placeOf(request, params.id);
        return versionJson(place, await existing(deps, place, params.version_id));
      },
      hooks("getTemplateVersion"),
    )
    .post(
      routes.publishTemplateVersion.path,
      async ({ params, request }) => {
        const place = placeOf(request, params.id);
        const versionId = idOf(params.version_id);
        const context = commandContextOf(request, deps);
        const outcome = await publishTemplateVersion(deps, place, versionId, context);
        if (outcome !== "published") throw new Problem(REFUSALS[outcome]);
        return versionJson(place, await existing(deps, place, versionId));
      },
      hooks("publishTemplateVersion"),
    )
    .post(
      routes.previewTemplateVersion.path,
      async ({ body, params, request }) => {
        checkRules(PreviewBody, body);
        const place = placeOf(request, params.id);
        const { version } = await existing(deps, place, params.version_id);
        const compiled = await deps.compiled.get(place.templateId, version);
        if (compiled === null) throw new Problem("NOT_FOUND");
        const output = renderVersion(compiled, body.variables ?? {});
        if (output.kind === "invalidData") throw refusedFor("INVALID_TEMPLATE_DATA", output.faults);
        const { subject, html = null, text = null } = output;
        return { object: "template_preview", subject, html, text };
      },
      hooks("previewTemplateVersion", { checkLarge: checkBy(PreviewBody) }),
    );
}

/** The id as streams know it; what is no uuid is nothing's id. */
function idOf(text: string): string {
  if (!isUuid(text)) throw new Problem("NOT_FOUND");
  return text.toLowerCase();
}

function placeOf(request: Request, id: string): TemplateLocation {
  return { workspaceId: principalOf(request).workspaceId, templateId: idOf(id) };
}

async function existingTemplate(deps: Dependencies, place: TemplateLocation): Promise<Template> {
  const template = await readTemplate(deps, place);
  if (template === null) throw new Problem("NOT_FOUND");
  return template;
}

async function shownTemplate(deps: Dependencies, place: TemplateLocation) {
  const template = await existingTemplate(deps, place);
  return templateJson({ ...template, id: place.templateId, status: templateStatus(template) });
}

async function existing(
  deps: Dependencies,
  place: TemplateLocation,
  versionId: string,
): Promise<VersionView> {
  const view = await readTemplateVersion(deps, place, idOf(versionId));
  if (view === null) throw new Problem("NOT_FOUND");
  return view;
}

/** As all lists are; what a clock that went back has mixed up is in the order of its times. */
function newestVersionsFirst({ versions }: Template): readonly TemplateVersion[] {
  return versions.toReversed().sort((one, other) => epochMs(other.createdAt) - epochMs(one.createdAt));
}

async function versionPage(deps: Dependencies, place: TemplateLocation, query: ListVersionsQuery) {
  const asked = pageRequest(query);
  const newestFirst = newestVersionsFirst(await existingTemplate(deps, place));
  const { shown, nextCursor } = pageOf(asked, ({ after, limit }) => {
    const start = after === undefined ? 0 : newestFirst.findIndex(({ id }) => id === after.id) + 1;
    if (after !== undefined && start === 0) throw notACursor();
    return newestFirst.slice(start, start + limit);
  });
  const views = await Promise.all(shown.map((version) => viewVersion(deps, place.templateId, version)));
  const found = views.filter((view) => view !== null);
  return pageJson({ shown: found, nextCursor }, (view) => versionJson(place, view));
}
