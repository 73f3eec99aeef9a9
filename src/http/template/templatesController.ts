import type { Dependencies } from "../../commands/dependencies.ts";
import { deleteTemplate } from "../../commands/template/deleteTemplate.ts";
import {
  archiveExistingTemplate,
  publishTemplateVersion,
  renameExistingTemplate,
} from "../../commands/template/manageTemplates.ts";
import { readTemplate, type TemplateLocation, viewVersion } from "../../commands/template/readTemplate.ts";
import { renderVersion } from "../../commands/template/renderForSend.ts";
import { type Template, templateStatus } from "../../domain/template/state.ts";
import { templateIdOfAlias } from "../../domain/template/templateAlias.ts";
import { pageJson, pageRequest } from "../lists/cursorPaging.ts";
import { type Caller, type ControllerOptions, operationController } from "../server/operationController.ts";
import { found, idOfPath, refusedFor } from "../server/problem.ts";
import {
  createOrRefuse,
  draftOrRefuse,
  existingTemplate,
  existingVersion,
  pageOfTemplates,
  pageOfVersions,
  requireChanged,
} from "./templateHandlers.ts";
import { templateOperations } from "./templateOperations.ts";
import { templateJson, versionJson } from "./templateResource.ts";

/** Templates: creating, reading, listing, renaming, archiving and deleting them. */
export function templatesController(options: ControllerOptions) {
  const { deps, basePath } = options;
  return operationController(deps, templateOperations, {
    createTemplate: async ({ body, caller, set }) => {
      const { id, isNew } = await createOrRefuse(options, body, caller.commandContext());
      if (!isNew) set.status = 200;
      set.headers.location = `${basePath}/api/v1/templates/${id}`;
      return shownTemplate(deps, { workspaceId: caller.workspaceId, templateId: id });
    },
    listTemplates: async ({ query, caller: { workspaceId } }) => {
      const page = pageRequest(query);
      if (query.alias !== undefined) return withAlias(deps, workspaceId, query.alias);
      return pageJson(await pageOfTemplates(options, workspaceId, page), templateJson);
    },
    getTemplate: async ({ params, caller }) => shownTemplate(deps, templateLocationOf(caller, params.id)),
    renameTemplate: async ({ body, params, caller }) => {
      const location = templateLocationOf(caller, params.id);
      requireChanged(await renameExistingTemplate(deps, location, body.name, caller.commandContext()));
      return shownTemplate(deps, location);
    },
    deleteTemplate: async ({ params, caller }) => {
      found(await deleteTemplate(deps, idOfPath(params.id), caller.commandContext()));
    },
    archiveTemplate: async ({ params, caller }) => {
      const location = templateLocationOf(caller, params.id);
      found(await archiveExistingTemplate(deps, location, caller.commandContext()));
      return shownTemplate(deps, location);
    },
  }).use(versionsController(deps, basePath));
}

/** The versions of templates: drafting, reading, listing, publishing and previewing them. */
function versionsController(deps: Dependencies, basePath: string) {
  return operationController(deps, templateOperations, {
    draftTemplateVersion: async ({ body, params, caller, set }) => {
      const location = templateLocationOf(caller, params.id);
      const versionId = await draftOrRefuse(deps, location, body, caller.commandContext());
      set.headers.location = `${basePath}/api/v1/templates/${location.templateId}/versions/${versionId}`;
      return versionJson(location, await existingVersion(deps, location, versionId));
    },
    listTemplateVersions: async ({ params, query, caller }) => {
      const location = templateLocationOf(caller, params.id);
      const asked = pageRequest(query);
      const { shown, nextCursor } = pageOfVersions(await existingTemplate(deps, location), asked);
      const views = await Promise.all(shown.map((one) => viewVersion(deps, location.templateId, one)));
      const page = { shown: views.filter((view) => view !== null), nextCursor };
      return pageJson(page, (view) => versionJson(location, view));
    },
    getTemplateVersion: async ({ params, caller }) => {
      const location = templateLocationOf(caller, params.id);
      return versionJson(location, await existingVersion(deps, location, params.version_id));
    },
    publishTemplateVersion: async ({ params, caller }) => {
      const location = templateLocationOf(caller, params.id);
      const versionId = idOfPath(params.version_id);
      requireChanged(await publishTemplateVersion(deps, location, versionId, caller.commandContext()));
      return versionJson(location, await existingVersion(deps, location, versionId));
    },
    previewTemplateVersion: async ({ body, params, caller }) => {
      const location = templateLocationOf(caller, params.id);
      const { version } = await existingVersion(deps, location, params.version_id);
      const owner = caller.commandContext();
      const compiled = found(await deps.compiled.get(location.templateId, version, owner));
      const output = await renderVersion(deps, compiled, body.variables ?? {}, owner);
      if (output.kind === "invalidData") throw refusedFor("INVALID_TEMPLATE_DATA", output.faults);
      const { subject, html = null, text = null } = output;
      return { object: "template_preview", subject, html, text };
    },
  });
}

function templateLocationOf({ workspaceId }: Caller, id: string): TemplateLocation {
  return { workspaceId, templateId: idOfPath(id) };
}

async function shownTemplate(deps: Dependencies, location: TemplateLocation) {
  return jsonOf(location, await existingTemplate(deps, location));
}

function jsonOf({ templateId }: TemplateLocation, template: Template) {
  return templateJson({ ...template, id: templateId, status: templateStatus(template) });
}

/** The page of the one template with an alias. */
async function withAlias(deps: Dependencies, workspaceId: string, alias: string) {
  const location = { workspaceId, templateId: templateIdOfAlias(workspaceId, alias) };
  const template = await readTemplate(deps, location);
  return { data: template === null ? [] : [jsonOf(location, template)], next_cursor: null };
}
