import type { Dependencies } from "../../commands/dependencies.ts";
import { deleteTemplate } from "../../commands/template/deleteTemplate.ts";
import {
  archiveExistingTemplate,
  publishTemplateVersion,
  renameExistingTemplate,
} from "../../commands/template/manageTemplates.ts";
import { type TemplateLocation, viewVersion } from "../../commands/template/readTemplate.ts";
import { renderVersion } from "../../commands/template/renderForSend.ts";
import { templateStatus } from "../../domain/template/state.ts";
import { checkRules } from "../body/validation.ts";
import { pageJson, pageRequest } from "../lists/cursorPaging.ts";
import { type ControllerOptions, operationController } from "../server/operationController.ts";
import { found, idOfPath, refusedFor } from "../server/problem.ts";
import { commandContextOf, principalOf } from "../server/requestContext.ts";
import {
  createOrRefuse,
  draftOrRefuse,
  existingTemplate,
  existingVersion,
  pageOfTemplates,
  pageOfVersions,
  requireChanged,
} from "./templateHandlers.ts";
import { PreviewBody, TemplateNameBody, templateOperations } from "./templateOperations.ts";
import { templateJson, versionJson } from "./templateResource.ts";

/** Templates: creating, reading, listing, renaming, archiving and deleting them. */
export function templatesController(options: ControllerOptions) {
  const { deps, basePath } = options;
  return operationController(deps, templateOperations, {
    createTemplate: async ({ body, request, set }) => {
      checkRules(TemplateNameBody, body);
      const { workspaceId } = principalOf(request);
      const context = commandContextOf(request, deps);
      const id = await createOrRefuse(options, body.name, context);
      set.headers.location = `${basePath}/api/v1/templates/${id}`;
      return shownTemplate(deps, { workspaceId, templateId: id });
    },
    listTemplates: async ({ query, request }) => {
      const { workspaceId } = principalOf(request);
      return pageJson(await pageOfTemplates(options, workspaceId, pageRequest(query)), templateJson);
    },
    getTemplate: async ({ params, request }) => shownTemplate(deps, templateLocationOf(request, params.id)),
    renameTemplate: async ({ body, params, request }) => {
      checkRules(TemplateNameBody, body);
      const location = templateLocationOf(request, params.id);
      const context = commandContextOf(request, deps);
      requireChanged(await renameExistingTemplate(deps, location, body.name, context));
      return shownTemplate(deps, location);
    },
    deleteTemplate: async ({ params, request }) => {
      found(await deleteTemplate(deps, idOfPath(params.id), commandContextOf(request, deps)));
    },
    archiveTemplate: async ({ params, request }) => {
      const location = templateLocationOf(request, params.id);
      found(await archiveExistingTemplate(deps, location, commandContextOf(request, deps)));
      return shownTemplate(deps, location);
    },
  }).use(versionsController(deps, basePath));
}

/** The versions of templates: drafting, reading, listing, publishing and previewing them. */
function versionsController(deps: Dependencies, basePath: string) {
  return operationController(deps, templateOperations, {
    draftTemplateVersion: async ({ body, params, request, set }) => {
      const location = templateLocationOf(request, params.id);
      const versionId = await draftOrRefuse(deps, location, body, commandContextOf(request, deps));
      set.headers.location = `${basePath}/api/v1/templates/${location.templateId}/versions/${versionId}`;
      return versionJson(location, await existingVersion(deps, location, versionId));
    },
    listTemplateVersions: async ({ params, query, request }) => {
      const location = templateLocationOf(request, params.id);
      const asked = pageRequest(query);
      const { shown, nextCursor } = pageOfVersions(await existingTemplate(deps, location), asked);
      const views = await Promise.all(shown.map((one) => viewVersion(deps, location.templateId, one)));
      const page = { shown: views.filter((view) => view !== null), nextCursor };
      return pageJson(page, (view) => versionJson(location, view));
    },
    getTemplateVersion: async ({ params, request }) => {
      const location = templateLocationOf(request, params.id);
      return versionJson(location, await existingVersion(deps, location, params.version_id));
    },
    publishTemplateVersion: async ({ params, request }) => {
      const location = templateLocationOf(request, params.id);
      const versionId = idOfPath(params.version_id);
      const context = commandContextOf(request, deps);
      requireChanged(await publishTemplateVersion(deps, location, versionId, context));
      return versionJson(location, await existingVersion(deps, location, versionId));
    },
    previewTemplateVersion: async ({ body, params, request }) => {
      checkRules(PreviewBody, body);
      const location = templateLocationOf(request, params.id);
      const { version } = await existingVersion(deps, location, params.version_id);
      const owner = commandContextOf(request, deps);
      const compiled = found(await deps.compiled.get(location.templateId, version, owner));
      const output = await renderVersion(deps, compiled, body.variables ?? {}, owner);
      if (output.kind === "invalidData") throw refusedFor("INVALID_TEMPLATE_DATA", output.faults);
      const { subject, html = null, text = null } = output;
      return { object: "template_preview", subject, html, text };
    },
  });
}

function templateLocationOf(request: Request, id: string): TemplateLocation {
  return { workspaceId: principalOf(request).workspaceId, templateId: idOfPath(id) };
}

async function shownTemplate(deps: Dependencies, location: TemplateLocation) {
  const template = await existingTemplate(deps, location);
  return templateJson({ ...template, id: location.templateId, status: templateStatus(template) });
}
