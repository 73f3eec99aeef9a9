/** @jsxImportSource hono/jsx */
import { listWebhookEndpoints, type WebhookEndpointRow } from "../../../../projections/webhookEndpoints.ts";
import { registerWebhookEndpoint } from "../../../commands/webhook/registerWebhookEndpoint.ts";
import { catchUpIfInTime, scheduledRead } from "../../lists/caughtUpReads.ts";
import { PAGE_ITEMS_DEFAULT, pageOf } from "../../lists/cursorPaging.ts";
import { Problem } from "../../server/problem.ts";
import { requireIncludable } from "../../webhook/includeScopes.ts";
import { caughtUpEndpoints } from "../../webhook/webhookEndpointHandlers.ts";
import { ENDPOINT_REFUSALS } from "../../webhook/webhookEndpointsController.ts";
import { destinationOf } from "../../webhook/webhookUrlCheck.ts";
import { Heading } from "../components/heading.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { pageAsked } from "../frame/listPaging.ts";
import { checkedInput, type EndpointFaults, EndpointForm, faultsOf, urlTakenFault } from "./endpointForm.tsx";
import { endpointHealthOf } from "./endpointHealth.ts";
import { type ListedEndpoint, listPage } from "./endpointListPage.tsx";
import { WEBHOOKS } from "./endpointOfPath.ts";
import { repeatedEndpointPage, secretPage } from "./secretPage.tsx";

/** The list of endpoints, and the form that adds one. */
export function endpointListRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [
    get("/webhooks", "webhook:manage", async (context) => {
      const asked = pageAsked(context, { limit: PAGE_ITEMS_DEFAULT });
      const db = await caughtUpEndpoints(options);
      const page = pageOf(asked, (request) => listWebhookEndpoints(db, context.workspaceId, request));
      const shown = await withHealth(options, page.shown);
      return listPage(context, { ...page, shown }, options.deps.clock.now());
    }),
    get("/webhooks/new", "webhook:manage", async (context) => newPage(context, null)),
    post("/webhooks/new", "webhook:manage", async (context) => {
      try {
        return await added(options, context);
      } catch (error) {
        return refusedPage(context, faultsOf(error));
      }
    }),
  ];
}

async function withHealth(
  { readModel }: DashboardOptions,
  rows: readonly WebhookEndpointRow[],
): Promise<readonly ListedEndpoint[]> {
  const model = readModel("webhook-deliveries");
  await catchUpIfInTime(model);
  return Array.fromAsync(rows, async (row) => {
    return { ...row, ...(await scheduledRead(model, (db) => endpointHealthOf(db, row.id))) };
  });
}

async function added(options: DashboardOptions, context: PageContext): Promise<Page> {
  const input = checkedInput(context.form);
  requireIncludable(context.principal, input, null);
  const url = await destinationOf(input.url, options.destinationRules);
  const wanted = { ...input, url, id: context.formId };
  const outcome = await registerWebhookEndpoint(options.deps, wanted, context.commandContext());
  if (outcome.kind === "repeated") return repeatedEndpointPage(context, wanted.id);
  if (outcome.kind === "alreadyExists")
    return refusedPage(context, await urlTakenFault(options, context, url));
  if (outcome.kind !== "registered") throw new Problem(ENDPOINT_REFUSALS[outcome.kind]);
  return secretPage(context, {
    endpointId: outcome.id,
    url,
    secret: outcome.secret,
    title: "The endpoint was added",
    advice: "Give it to whatever listens there: with it the signature of every call can be checked.",
  });
}

function refusedPage(context: PageContext, faults: EndpointFaults): Page {
  return { ...newPage(context, faults), status: 422 };
}

function newPage(context: PageContext, faults: EndpointFaults | null): Page {
  return {
    title: "Add an endpoint",
    above: [WEBHOOKS],
    body: (
      <>
        <Heading title="Add an endpoint" />
        <EndpointForm
          context={context}
          action="/webhooks/new"
          endpoint={null}
          faults={faults}
          verb="Add endpoint"
          cancelTo="/webhooks"
        />
      </>
    ),
  };
}
