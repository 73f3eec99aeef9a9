import type { Dependencies } from "../../../commands/dependencies.ts";
import type { Template } from "../../../domain/template/state.ts";
import {
  existingTemplate,
  existingVersion,
  publishOrRefuse,
  templateIdOf,
} from "../../template/templateChanges.ts";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import type { DashboardRoute, Page, Visit } from "../frame/dashboardRoute.ts";
import { seeOther } from "../frame/notices.ts";
import { placeOf, TEMPLATES } from "./templateRoutes.tsx";
import { VersionComparison, VersionDetail } from "./versionPage.tsx";

const scope = "template:manage";

/** The versions of a template: each by itself, two side by side, and which of them sends use. */
export function versionRoutes({ deps }: DashboardOptions): readonly DashboardRoute[] {
  return [
    {
      method: "GET",
      path: "/templates/:id/versions/:version",
      scope,
      answer: (visit) => versionPage(deps, visit),
    },
    {
      method: "POST",
      path: "/templates/:id/versions/:version/publish",
      scope,
      async answer(visit) {
        const place = placeOf(visit);
        const versionId = templateIdOf(visit.params.version ?? "");
        await publishOrRefuse(deps, place, versionId, visit.commandContext());
        const { version } = await existingVersion(deps, place, versionId);
        return seeOther(
          visit.to(`/templates/${place.templateId}`),
          `Version ${version.number} was published: sends use it from now on.`,
        );
      },
    },
    {
      method: "GET",
      path: "/templates/:id/compare",
      scope,
      answer: (visit) => comparisonPage(deps, visit),
    },
  ];
}

async function versionPage(deps: Dependencies, visit: Visit): Promise<Page> {
  const place = placeOf(visit);
  const template = await existingTemplate(deps, place);
  const view = await existingVersion(deps, place, visit.params.version ?? "");
  const title = `Version ${view.version.number}`;
  return {
    title: `${title} of ${template.name}`,
    above: aboveVersions(place.templateId, template),
    body: (
      <VersionDetail visit={visit} at={`/templates/${place.templateId}`} template={template} view={view} />
    ),
  };
}

async function comparisonPage(deps: Dependencies, visit: Visit): Promise<Page> {
  const place = placeOf(visit);
  const template = await existingTemplate(deps, place);
  const from = await existingVersion(deps, place, visit.query.get("from") ?? "");
  const to = await existingVersion(deps, place, visit.query.get("to") ?? "");
  return {
    title: `Versions ${from.version.number} and ${to.version.number} of ${template.name}`,
    above: aboveVersions(place.templateId, template),
    isWide: true,
    body: <VersionComparison visit={visit} at={`/templates/${place.templateId}`} from={from} to={to} />,
  };
}

/** What stands above a page of one template's versions. */
export function aboveVersions(templateId: string, { name }: Template) {
  return [TEMPLATES, { path: `/templates/${templateId}`, title: name }];
}
