/** @jsxImportSource hono/jsx */

import type { Dependencies } from "../../../commands/dependencies.ts";
import { publishTemplateVersion } from "../../../commands/template/manageTemplates.ts";
import type { Template } from "../../../domain/template/state.ts";
import { idOfPath } from "../../server/problem.ts";
import { existingTemplate, existingVersion, requireChanged } from "../../template/templateHandlers.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { TEMPLATES, templateLocationOf } from "./templateRoutes.tsx";
import { VersionComparison, VersionDetail } from "./versionPage.tsx";

const scope = "template:manage";

/** The versions of a template: each by itself, two side by side, and publishing one. */
export function versionRoutes({ deps }: DashboardOptions): readonly DashboardRoute[] {
  return [
    get("/templates/:id/versions/:version", scope, (context) => versionPage(deps, context)),
    post("/templates/:id/versions/:version/publish", scope, async (context) => {
      const location = templateLocationOf(context);
      const versionId = idOfPath(context.params.version);
      requireChanged(await publishTemplateVersion(deps, location, versionId, context.commandContext()));
      const { version } = await existingVersion(deps, location, versionId);
      return context.seeOther(
        `/templates/${location.templateId}`,
        `Version ${version.number} was published: sends use it from now on.`,
      );
    }),
    get("/templates/:id/compare", scope, (context) => comparisonPage(deps, context)),
  ];
}

async function versionPage(deps: Dependencies, context: PageContext): Promise<Page> {
  const location = templateLocationOf(context);
  const template = await existingTemplate(deps, location);
  const view = await existingVersion(deps, location, context.params.version ?? "");
  const title = `Version ${view.version.number}`;
  return {
    title: `${title} of ${template.name}`,
    above: aboveVersions(location.templateId, template),
    body: (
      <VersionDetail
        context={context}
        at={`/templates/${location.templateId}`}
        template={template}
        view={view}
      />
    ),
  };
}

async function comparisonPage(deps: Dependencies, context: PageContext): Promise<Page> {
  const location = templateLocationOf(context);
  const template = await existingTemplate(deps, location);
  const from = await existingVersion(deps, location, context.query.get("from") ?? "");
  const to = await existingVersion(deps, location, context.query.get("to") ?? "");
  return {
    title: `Versions ${from.version.number} and ${to.version.number} of ${template.name}`,
    above: aboveVersions(location.templateId, template),
    isWide: true,
    body: (
      <VersionComparison context={context} at={`/templates/${location.templateId}`} from={from} to={to} />
    ),
  };
}

/** The breadcrumbs of a page of one template's versions. */
export function aboveVersions(templateId: string, { name }: Template) {
  return [TEMPLATES, { path: `/templates/${templateId}`, title: name }];
}
