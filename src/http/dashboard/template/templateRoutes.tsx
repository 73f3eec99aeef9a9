/** @jsxImportSource hono/jsx */

import { listTemplates } from "../../../../projections/templates.ts";
import { deleteTemplate } from "../../../commands/template/deleteTemplate.ts";
import type { TemplateLocation } from "../../../commands/template/manageTemplates.ts";
import { codePoints } from "../../../kernel/text/text.ts";
import { caughtUpRows } from "../../lists/caughtUpReads.ts";
import { pageOf, pageRequest } from "../../lists/cursorPaging.ts";
import { Problem } from "../../server/problem.ts";
import {
  archiveOrRefuse,
  createWithinLimit,
  existingTemplate,
  pageOfVersions,
  templateIdOf,
} from "../../template/templateChanges.ts";
import { TEMPLATE_NAME_CHARACTERS_MAX } from "../../template/templateOperations.ts";
import { confirmationPage } from "../components/confirmationPage.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, post, type Visit } from "../frame/dashboardRoute.ts";
import { fieldOf } from "../frame/formBody.ts";
import { cursorOf } from "../frame/listCursor.ts";
import { seeOther } from "../frame/notices.ts";
import { NewTemplateForm, TemplateDetail, TemplateList } from "./templatePage.tsx";

const scope = "template:manage";
/** The breadcrumbs of every page of a template. */
export const TEMPLATES = { path: "/templates", title: "Templates" };

/** Which template a page is about. */
export function templateLocationOf({ workspaceId, params }: Visit): TemplateLocation {
  return { workspaceId, templateId: templateIdOf(params.id ?? "") };
}

/** Templates: the list of them, a new one, and each with its versions. */
export function templateRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [...listRoutes(options), ...detailRoutes(options), ...endRoutes(options)];
}

function listRoutes({ deps, readModel }: DashboardOptions): readonly DashboardRoute[] {
  const templates = readModel("templates");
  return [
    get(TEMPLATES.path, scope, async (visit) => {
      const request = pageRequest({ cursor: cursorOf(visit) });
      const db = await caughtUpRows(templates);
      const page = pageOf(request, (wanted) => listTemplates(db, visit.workspaceId, wanted));
      return { title: "Templates", body: <TemplateList visit={visit} page={page} /> };
    }),
    get("/templates/new", scope, async (visit) => newTemplatePage(visit)),
    post("/templates/new", scope, async (visit) => {
      const name = fieldOf(visit.form, "name").trim();
      if (name === "" || codePoints(name) > TEMPLATE_NAME_CHARACTERS_MAX)
        return newTemplatePage(visit, name, `A name has 1 to ${TEMPLATE_NAME_CHARACTERS_MAX} characters.`);
      const id = await createWithinLimit(deps, templates, name, visit.commandContext());
      return seeOther(visit.to(`/templates/${id}`), "The template was created: now draft its first version.");
    }),
  ];
}

function newTemplatePage(visit: Visit, name?: string, fault?: string): Page {
  return {
    title: "New template",
    above: [TEMPLATES],
    ...(fault === undefined ? {} : { status: 422 }),
    body: <NewTemplateForm visit={visit} name={name} fault={fault} />,
  };
}

function detailRoutes({ deps }: DashboardOptions): readonly DashboardRoute[] {
  return [
    get("/templates/:id", scope, async (visit) => {
      const location = templateLocationOf(visit);
      const template = await existingTemplate(deps, location);
      const versions = pageOfVersions(template, pageRequest({ cursor: cursorOf(visit) }));
      return {
        title: template.name,
        above: [TEMPLATES],
        body: (
          <TemplateDetail visit={visit} id={location.templateId} template={template} versions={versions} />
        ),
      };
    }),
  ];
}

/** What cannot be undone: archiving and deleting. */
function endRoutes({ deps }: DashboardOptions): readonly DashboardRoute[] {
  return [
    get("/templates/:id/archive", scope, (visit) =>
      confirmation(visit, "archive", {
        verb: "Archive",
        about:
          "Nothing is drafted, published or sent with it again: sends that name it are refused from now on. It cannot be brought back. Messages that were accepted with it are not touched.",
      }),
    ),
    post("/templates/:id/archive", scope, async (visit) => {
      const location = templateLocationOf(visit);
      await archiveOrRefuse(deps, location, visit.commandContext());
      return seeOther(visit.to(`/templates/${location.templateId}`), "The template was archived.");
    }),
    get("/templates/:id/delete", scope, (visit) =>
      confirmation(visit, "delete", {
        verb: "Delete",
        about:
          "It goes with all of its versions, from the log too, and cannot be brought back. Sends that name it are refused from now on. Messages that were accepted with it keep their content.",
      }),
    ),
    post("/templates/:id/delete", scope, async (visit) => {
      const outcome = await deleteTemplate(
        deps,
        templateLocationOf(visit).templateId,
        visit.commandContext(),
      );
      if (outcome !== "deleted") throw new Problem("NOT_FOUND");
      return seeOther(visit.to(TEMPLATES.path), "The template was deleted.");
    }),
  ];

  async function confirmation(
    visit: Visit,
    action: string,
    { verb, about }: { readonly verb: string; readonly about: string },
  ): Promise<Page> {
    const location = templateLocationOf(visit);
    const { name } = await existingTemplate(deps, location);
    const at = `/templates/${location.templateId}`;
    return confirmationPage(visit, {
      title: `${verb} ${name}`,
      question: `${verb} “${name}”?`,
      above: [TEMPLATES, { path: at, title: name }],
      action: `${at}/${action}`,
      verb,
      isDangerous: true,
      text: <p>{about}</p>,
    });
  }
}
