/** @jsxImportSource hono/jsx */

import type { Dependencies } from "../../../commands/dependencies.ts";
import { publishTemplateVersion } from "../../../commands/template/manageTemplates.ts";
import { idOfPath } from "../../server/problem.ts";
import { existingVersion, requireChanged } from "../../template/templateHandlers.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { templateLocationOf, templateOf } from "./templateRoutes.tsx";
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
  const { location, template, at, above } = await templateOf(deps, context);
  const view = await existingVersion(deps, location, context.params.version ?? "");
  return {
    title: `Version ${view.version.number} of ${template.name}`,
    above,
    body: <VersionDetail context={context} at={at} template={template} view={view} />,
  };
}

async function comparisonPage(deps: Dependencies, context: PageContext): Promise<Page> {
  const { location, template, at, above } = await templateOf(deps, context);
  const from = await existingVersion(deps, location, context.query.get("from") ?? "");
  const to = await existingVersion(deps, location, context.query.get("to") ?? "");
  return {
    title: `Versions ${from.version.number} and ${to.version.number} of ${template.name}`,
    above,
    isWide: true,
    body: <VersionComparison context={context} at={at} from={from} to={to} />,
  };
}
