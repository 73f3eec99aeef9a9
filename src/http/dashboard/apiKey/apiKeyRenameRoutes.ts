import { existingKey, renameOnRequest } from "../../apiKey/apiKeyHandlers.ts";
import { catchUpIfInTime } from "../../lists/caughtUpReads.ts";
import { enteredName, nameFormPage } from "../components/nameFormPage.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { API_KEYS, type ApiKeyJson } from "./apiKeyPage.tsx";

const PATH = "/api-keys/:id/rename";
const SCOPE = "workspace:manage";

/** Giving a key another name. */
export function apiKeyRenameRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  const keyOf = ({ workspaceId, params }: PageContext) => existingKey(options, workspaceId, params.id ?? "");
  return [
    get(PATH, SCOPE, async (context) => renamePage(context, await keyOf(context))),
    post(PATH, SCOPE, async (context) => {
      const apiKey = await keyOf(context);
      const { name, fault } = enteredName(context.form);
      if (fault !== undefined) return renamePage(context, apiKey, fault);
      await renameOnRequest(options, { id: apiKey.id, name }, context.commandContext());
      await catchUpIfInTime(options.readModel("api-keys"));
      return context.seeOther(`/api-keys/${apiKey.id}`, "The key was renamed.");
    }),
  ];
}

function renamePage(context: PageContext, { id, name }: ApiKeyJson, fault?: string): Page {
  const at = `/api-keys/${id}`;
  return nameFormPage(context, {
    title: `Rename ${name}`,
    heading: "Rename the key",
    above: [...API_KEYS, { path: at, title: name }],
    hint: "What it is for. The key itself stays as it is.",
    action: `${at}/rename`,
    verb: "Rename",
    cancelTo: at,
    name,
    fault,
  });
}
