/** @jsxImportSource hono/jsx */

import type { Dependencies } from "../../../commands/dependencies.ts";
import { deleteTemplate } from "../../../commands/template/deleteTemplate.ts";
import {
  archiveExistingTemplate,
  renameExistingTemplate,
} from "../../../commands/template/manageTemplates.ts";
import type { TemplateLocation } from "../../../commands/template/readTemplate.ts";
import { ALIAS_CHARACTERS_MAX } from "../../../domain/template/templateAlias.ts";
import { omitUndefined } from "../../../kernel/omitUndefined.ts";
import { checkBy } from "../../body/validation.ts";
import { PAGE_ITEMS_DEFAULT } from "../../lists/cursorPaging.ts";
import { found, idOfPath } from "../../server/problem.ts";
import {
  createOrRefuse,
  existingTemplate,
  pageOfTemplates,
  pageOfVersions,
  requireChanged,
} from "../../template/templateHandlers.ts";
import { CreateTemplateBody } from "../../template/templateOperations.ts";
import { asksFirst, type Confirmation } from "../components/confirmationPage.tsx";
import { Field } from "../components/form.tsx";
import { enteredName, nameFormPage } from "../components/nameFormPage.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { fieldOf, formFields } from "../frame/formBody.ts";
import { type FormFaults, formFaults } from "../frame/formFaults.ts";
import { pageAsked } from "../frame/listPaging.ts";
import { TemplateDetail, TemplateList } from "./templatePage.tsx";

const scope = "template:manage";
const TEMPLATES = { path: "/templates", title: "Templates" };

const checkTemplate = checkBy(CreateTemplateBody);

const NAME_HINT = "What your colleagues call it: Order confirmation. Recipients never see it.";

/** Where the template of the path is. */
export function templateLocationOf({ workspaceId, params }: PageContext): TemplateLocation {
  return { workspaceId, templateId: idOfPath(params.id) };
}

/** The template of the path, with the path of its page and the breadcrumbs of those below it. */
export async function templateOf(deps: Dependencies, context: PageContext) {
  const location = templateLocationOf(context);
  const template = await existingTemplate(deps, location);
  const at = `/templates/${location.templateId}`;
  return { location, template, at, above: [TEMPLATES, { path: at, title: template.name }] };
}

/** Templates: the list, a new one, and each with its versions. */
export function templateRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [...listRoutes(options), ...detailRoutes(options), ...renameRoutes(options), ...endRoutes(options)];
}

function listRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [
    get(TEMPLATES.path, scope, async (context) => {
      const request = pageAsked(context, { limit: PAGE_ITEMS_DEFAULT });
      const page = await pageOfTemplates(options, context.workspaceId, request);
      return { title: "Templates", body: <TemplateList context={context} page={page} /> };
    }),
    get("/templates/new", scope, async (context) => newTemplatePage(context)),
    post("/templates/new", scope, async (context) => {
      const { name, fault } = enteredName(context.form);
      if (fault !== undefined)
        return newTemplatePage(context, { status: 422, fields: { name: fault }, whole: null });
      const alias = fieldOf(context.form, "alias") || undefined;
      const template = omitUndefined({ name, alias });
      try {
        checkTemplate(template);
        const { id, isNew } = await createOrRefuse(options, template, context.commandContext());
        const done = isNew
          ? "The template was created: now draft its first version."
          : "This template already exists.";
        return context.seeOther(`/templates/${id}`, done);
      } catch (error) {
        return newTemplatePage(context, formFaults(error));
      }
    }),
  ];
}

function newTemplatePage(context: PageContext, faults: FormFaults | null = null): Page {
  const page = nameFormPage(context, {
    title: "New template",
    above: [TEMPLATES],
    hint: NAME_HINT,
    action: "/templates/new",
    verb: "Create the template",
    cancelTo: TEMPLATES.path,
    fault: faults?.fields.name,
    refusal: faults?.whole,
    others: (
      <Field
        {...formFields(context.form, faults?.fields)("alias")}
        label="Alias"
        hint="Optional: order-confirmation. Sends can name the template by it (template_alias), and it can be the same in every workspace. It cannot be changed."
        maxLength={ALIAS_CHARACTERS_MAX}
      />
    ),
  });
  return { ...page, status: faults?.status };
}

function detailRoutes({ deps }: DashboardOptions): readonly DashboardRoute[] {
  return [
    get("/templates/:id", scope, async (context) => {
      const { location, template, at } = await templateOf(deps, context);
      const versions = pageOfVersions(template, pageAsked(context, { limit: PAGE_ITEMS_DEFAULT }));
      return {
        title: template.name,
        above: [TEMPLATES],
        body: (
          <TemplateDetail
            context={context}
            id={location.templateId}
            at={at}
            template={template}
            versions={versions}
          />
        ),
      };
    }),
  ];
}

function renameRoutes({ deps }: DashboardOptions): readonly DashboardRoute[] {
  const path = "/templates/:id/rename";
  return [
    get(path, scope, (context) => renamePage(context)),
    post(path, scope, async (context) => {
      const { name, fault } = enteredName(context.form);
      if (fault !== undefined) return renamePage(context, fault);
      const location = templateLocationOf(context);
      requireChanged(await renameExistingTemplate(deps, location, name, context.commandContext()));
      return context.seeOther(`/templates/${location.templateId}`, "The template was renamed.");
    }),
  ];

  async function renamePage(context: PageContext, fault?: string): Promise<Page> {
    const { template, at, above } = await templateOf(deps, context);
    return nameFormPage(context, {
      title: `Rename ${template.name}`,
      heading: "Rename the template",
      above,
      hint: NAME_HINT,
      action: `${at}/rename`,
      verb: "Rename",
      cancelTo: at,
      name: template.name,
      fault,
    });
  }
}

/** Actions that cannot be undone: archiving and deleting. */
function endRoutes({ deps }: DashboardOptions): readonly DashboardRoute[] {
  return [
    ...asksFirst("/templates/:id/archive", scope, question("Archive", ARCHIVING), async (context) => {
      const location = templateLocationOf(context);
      found(await archiveExistingTemplate(deps, location, context.commandContext()));
      return context.seeOther(`/templates/${location.templateId}`, "The template was archived.");
    }),
    ...asksFirst("/templates/:id/delete", scope, question("Delete", DELETING), async (context) => {
      const { templateId } = templateLocationOf(context);
      found(await deleteTemplate(deps, templateId, context.commandContext()));
      return context.seeOther(TEMPLATES.path, "The template was deleted.");
    }),
  ];

  function question(verb: string, about: string) {
    return async (context: PageContext): Promise<Confirmation> => {
      const { template, above } = await templateOf(deps, context);
      const asked = { title: `${verb} ${template.name}`, question: `${verb} “${template.name}”?` };
      return { ...asked, above, verb, isDangerous: true, text: <p>{about}</p> };
    };
  }
}

const ARCHIVING =
  "Nothing is drafted, published or sent with it again: sends that name it are refused from now on. It cannot be brought back. Messages that were accepted with it are not touched.";

const DELETING =
  "All its versions are deleted with it, from the log too. This cannot be undone. Sends that name it are refused from now on. Messages that were accepted with it keep their content.";
