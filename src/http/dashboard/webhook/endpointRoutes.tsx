/** @jsxImportSource hono/jsx */
import {
  type FailuresInARow,
  listWebhookDeliveries,
  webhookDelivery,
} from "../../../../projections/webhookDeliveries/queries.ts";
import type { WebhookEndpointRow } from "../../../../projections/webhookEndpoints.ts";
import {
  type EndpointChange,
  updateWebhookEndpoint,
} from "../../../commands/webhook/changeWebhookEndpoint.ts";
import { DELIVERY_STATUSES } from "../../../domain/webhookDelivery/state.ts";
import { isWebhookEventType } from "../../../domain/webhookEventTypes.ts";
import { isUuid, webhookDeliveryId } from "../../../kernel/ids.ts";
import { omitUndefined } from "../../../kernel/omitUndefined.ts";
import { findPage, scheduledRead, whenCaughtUp } from "../../lists/caughtUpReads.ts";
import { PAGE_ITEMS_DEFAULT } from "../../lists/cursorPaging.ts";
import { Problem } from "../../server/problem.ts";
import { requireIncludable } from "../../webhook/includeScopes.ts";
import { blockedReason, destinationOf } from "../../webhook/webhookUrlCheck.ts";
import { deliveryIdsOf, deliveryWithAttempts } from "../../webhookDelivery/webhookDeliveryHandlers.ts";
import { Heading } from "../components/heading.tsx";
import type { DashboardOptions } from "../frame/dashboardOptions.ts";
import { type DashboardRoute, get, type Page, type PageContext, post } from "../frame/dashboardRoute.ts";
import { pageAsked } from "../frame/listPaging.ts";
import { failureText } from "./deliveryPage.tsx";
import { checkedInput, type EndpointFaults, EndpointForm, faultsOf, urlTakenFault } from "./endpointForm.tsx";
import { endpointHealthOf } from "./endpointHealth.ts";
import { endpointOf, WEBHOOKS } from "./endpointOfPath.ts";
import { type DeliveryFilters, endpointPage } from "./endpointPage.tsx";

/** One endpoint with its deliveries, and the form that changes it. */
export function endpointRoutes(options: DashboardOptions): readonly DashboardRoute[] {
  return [
    get("/webhooks/:id", "webhook:manage", (context) => shown(options, context)),
    get("/webhooks/:id/edit", "webhook:manage", async (context) =>
      editPage(context, await endpointOf(options, context), null),
    ),
    post("/webhooks/:id/edit", "webhook:manage", async (context) => {
      const endpoint = await endpointOf(options, context);
      const faults = await change(options, context, endpoint).catch(faultsOf);
      if (faults !== null) return { ...editPage(context, endpoint, faults), status: 422 };
      return context.seeOther(`/webhooks/${endpoint.id}`, "The endpoint was changed.");
    }),
  ];
}

async function shown(options: DashboardOptions, context: PageContext): Promise<Page> {
  const endpoint = await endpointOf(options, context);
  const { query } = context;
  const request = pageAsked(context, { limit: PAGE_ITEMS_DEFAULT });
  const filters = filtersOf(query);
  const { emailId, ...ofRows } = filters;
  const ids = emailId === undefined ? {} : { ids: await idsOf(options, emailId, endpoint.id) };
  const model = options.readModel("webhook-deliveries");
  await whenCaughtUp(model);
  const page = await findPage(
    model,
    { endpointId: endpoint.id, ...request, ...ofRows, ...ids },
    listWebhookDeliveries,
  );
  const standing = await scheduledRead(model, (db) => endpointHealthOf(db, endpoint.id));
  const failing = endpoint.status === "active" ? standing.failing : null;
  return endpointPage(context, {
    endpoint: { ...endpoint, ...standing },
    lastFailure: failing && (await lastFailureOf(options, context, endpoint, failing)),
    blockedReason: failing && (await blockedReason(endpoint.url, options.destinationRules)),
    filters,
    page,
    now: options.deps.clock.now(),
  });
}

/** The last failed call; null if its event has left the log since. */
async function lastFailureOf(
  { deps, readModel }: DashboardOptions,
  { principal }: PageContext,
  endpoint: WebhookEndpointRow,
  failing: FailuresInARow,
) {
  const deliveryId = webhookDeliveryId(failing.eventId, endpoint.id);
  const model = readModel("webhook-deliveries");
  const row = await scheduledRead(model, (db) => webhookDelivery(db, endpoint.id, deliveryId));
  if (row === null) return null;
  const { attempt_log: attempts } = await deliveryWithAttempts(deps, endpoint, row, principal);
  const failed = attempts.findLast(({ outcome }) => outcome === "failed");
  return failed === undefined ? null : { deliveryId, why: failureText(failed) };
}

async function idsOf({ deps }: DashboardOptions, emailId: string, endpointId: string) {
  return isUuid(emailId) ? deliveryIdsOf(deps, { emailId, endpointId }) : [];
}

/** The filters in the address; unknown values of the lists to choose from are ignored. */
function filtersOf(query: URLSearchParams): DeliveryFilters {
  const status = DELIVERY_STATUSES.find((one) => one === query.get("status"));
  const eventType = query.get("event_type") ?? "";
  const emailId = (query.get("email_id") ?? "").trim();
  return {
    ...omitUndefined({ status }),
    ...(isWebhookEventType(eventType) ? { eventType } : {}),
    ...(emailId === "" ? {} : { emailId }),
  };
}

/** Changes the endpoint as the form says; null, or the faults of the form. Throws a `Problem` for other refusals. */
async function change(
  options: DashboardOptions,
  context: PageContext,
  endpoint: WebhookEndpointRow,
): Promise<EndpointFaults | null> {
  const { deps, destinationRules } = options;
  const { url, ...others } = checkedInput(context.form);
  // Do not look up an unchanged address: the rest can be changed even while its name does not resolve.
  const moved = url === endpoint.url ? {} : { url: await destinationOf(url, destinationRules) };
  const wanted: EndpointChange = { ...others, ...moved };
  requireIncludable(context.principal, wanted, endpoint);
  const outcome = await updateWebhookEndpoint(deps, endpoint.id, wanted, context.commandContext());
  if (outcome === "alreadyExists") return urlTakenFault(options, context, wanted.url ?? url);
  if (outcome === "notFound") throw new Problem("WEBHOOK_NOT_FOUND");
  return null;
}

function editPage(context: PageContext, endpoint: WebhookEndpointRow, faults: EndpointFaults | null): Page {
  const at = `/webhooks/${endpoint.id}`;
  return {
    title: "Change the endpoint",
    above: [WEBHOOKS, { path: at, title: "Endpoint" }],
    body: (
      <>
        <Heading title="Change the endpoint" />
        <EndpointForm
          context={context}
          action={`${at}/edit`}
          endpoint={endpoint}
          faults={faults}
          verb="Save"
          cancelTo={at}
        />
        <p class="soft">Pending deliveries go to the new address too.</p>
      </>
    ),
  };
}
