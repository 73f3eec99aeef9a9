/** @jsxImportSource hono/jsx */

import { existingKey, renameOnRequest } from "../../apiKey/apiKeyHandlers.ts";
import { catchUpIfInTime } from "../../lists/caughtUpReads.ts";
import { type EnteredName, enteredName, NameForm } from "../components/nameForm.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { API_KEYS, type ApiKeyJson } from "./apiKeyPage.tsx";

const PATH = "/api-keys/:id/rename";
const SCOPE = "workspace:manage";

/** Giving a key another name. */
export function apiKeyRenameRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  const keyOf = ({ workspaceId, params }: PageContext) => existingKey(options, workspaceId, params.id ?? "");
  return [
    get(PATH, SCOPE, async (context) => {
      const apiKey = await keyOf(context);
      return renamePage(context, apiKey, { name: apiKey.name, fault: undefined });
    }),
    post(PATH, SCOPE, async (context) => {
      const apiKey = await keyOf(context);
      const entered = enteredName(context.form);
      if (entered.fault !== undefined) return renamePage(context, apiKey, entered);
      await renameOnRequest(options, { id: apiKey.id, name: entered.name }, context.commandContext());
      await catchUpIfInTime(options.readModel("api-keys"));
      return context.seeOther(`/api-keys/${apiKey.id}`, "The key was renamed.");
    }),
  ];
}

function renamePage(context: PageContext, { id, name: current }: ApiKeyJson, entered: EnteredName): Page {
  const at = `/api-keys/${id}`;
  return {
    title: `Rename ${current}`,
    above: [...API_KEYS, { path: at, title: current }],
    ...(entered.fault === undefined ? {} : { status: 422 }),
    body: (
      <NameForm
        {...entered}
        context={context}
        title="Rename the key"
        hint="What it is for. The key itself stays as it is."
        action={`${at}/rename`}
        verb="Rename"
        cancelTo={at}
      />
    ),
  };
}
