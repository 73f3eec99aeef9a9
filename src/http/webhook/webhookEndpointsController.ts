import { listWebhookEndpoints } from "../../../projections/webhookEndpoints.ts";
import {
  deleteWebhookEndpoint,
  disableWebhookEndpoint,
  type EndpointChange,
  enableWebhookEndpoint,
  rotateWebhookSecret,
  updateWebhookEndpoint,
} from "../../commands/webhook/changeWebhookEndpoint.ts";
import { registerWebhookEndpoint } from "../../commands/webhook/registerWebhookEndpoint.ts";
import { ENDPOINTS_MAX, OVERLAP_SECONDS_DEFAULT } from "../../domain/webhook/decisions.ts";
import { invariant } from "../../kernel/assert.ts";
import { omitUndefined } from "../../kernel/omitUndefined.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { mayReadContent } from "../email/redactEmail.ts";
import { pageJson, pageOf, pageRequest } from "../lists/cursorPaging.ts";
import { type Caller, type ControllerOptions, operationController } from "../server/operationController.ts";
import { found, idOfPath, invalid, Problem } from "../server/problem.ts";
import { requireIncludable } from "./includeScopes.ts";
import { caughtUpEndpoints, existingEndpoint, testOrRefuse } from "./webhookEndpointHandlers.ts";
import { type UpdateWebhookBody, webhookEndpointOperations } from "./webhookEndpointOperations.ts";
import { endpointJson } from "./webhookEndpointResource.ts";
import { type DestinationRules, destinationOf } from "./webhookUrlCheck.ts";

interface WebhooksOptions extends ControllerOptions {
  readonly rules: DestinationRules;
}

/** The codes for endpoints that are not registered. */
export const ENDPOINT_REFUSALS = {
  alreadyExists: "WEBHOOK_ALREADY_EXISTS",
  repeated: "WEBHOOK_ALREADY_EXISTS",
  limitReached: "WEBHOOK_LIMIT_REACHED",
} as const;

/** A request about one endpoint. */
export interface EndpointCall {
  readonly caller: Caller;
  readonly params: { readonly id: string };
}

/** Registering, listing, reading, changing and deleting webhook endpoints, rotating their secrets, testing them. */
export function webhookEndpointsController(options: WebhooksOptions) {
  return endpointCollection(options).use(singleEndpoint(options));
}

function endpointCollection(options: WebhooksOptions) {
  const { deps, basePath, rules } = options;
  return operationController(deps, webhookEndpointOperations, {
    registerWebhook: async ({ body, caller, set }) => {
      requireIncludable(caller.principal, body, null);
      const url = await destinationOf(body.url, rules);
      const description = body.description ?? null;
      const eventTypes = body.event_types ?? null;
      const include = body.include ?? [];
      const endpoint = { url, description, eventTypes, include };
      const outcome = await registerWebhookEndpoint(deps, endpoint, caller.commandContext());
      if (outcome.kind !== "registered") throw new Problem(ENDPOINT_REFUSALS[outcome.kind]);
      const { id, createdAt, secret } = outcome;
      set.headers.location = `${basePath}/webhooks/${id}`;
      const row = { id, ...endpoint, createdAt, updatedAt: createdAt };
      return { ...endpointJson({ ...row, status: "active", disabledReason: null }), secret };
    },
    listWebhooks: async ({ query, caller: { workspaceId } }) => {
      const asked = pageRequest(query);
      const endpoints = await caughtUpEndpoints(options);
      if (query.limit === undefined && query.cursor === undefined) {
        const all = listWebhookEndpoints(endpoints, workspaceId, { limit: ENDPOINTS_MAX });
        return { data: all.map(endpointJson) };
      }
      return pageJson(
        pageOf(asked, (page) => listWebhookEndpoints(endpoints, workspaceId, page)),
        endpointJson,
      );
    },
  });
}

function singleEndpoint(options: WebhooksOptions) {
  const { deps, basePath, rules } = options;
  const idOf = ({ params }: EndpointCall) => idOfPath(params.id);
  const existing = (call: EndpointCall) => existingEndpoint(options, call.caller.workspaceId, idOf(call));
  const shown = async (call: EndpointCall) => endpointJson(await existing(call));
  const context = ({ caller }: EndpointCall) => caller.commandContext();

  return operationController(deps, webhookEndpointOperations, {
    getWebhook: shown,
    updateWebhook: async ({ body, ...call }) => {
      const change = await endpointChange(body, rules);
      const { principal } = call.caller;
      if (!mayReadContent(principal)) requireIncludable(principal, change, await existing(call));
      const outcome = await updateWebhookEndpoint(deps, idOf(call), change, context(call));
      if (outcome === "alreadyExists") throw new Problem("WEBHOOK_ALREADY_EXISTS");
      if (outcome === "notFound") throw new Problem("WEBHOOK_NOT_FOUND");
      return shown(call);
    },
    deleteWebhook: async (call) => {
      found(await deleteWebhookEndpoint(deps, idOf(call), context(call)), "WEBHOOK_NOT_FOUND");
    },
    disableWebhook: async (call) => {
      await disableWebhookEndpoint(deps, idOf(call), context(call));
      return shown(call);
    },
    enableWebhook: async (call) => {
      await enableWebhookEndpoint(deps, idOf(call), context(call));
      return shown(call);
    },
    rotateWebhookSecret: async ({ query, body, ...call }) => {
      const overlapMs = overlapSeconds(query.overlap_seconds, body.overlap_seconds) * SECOND_MS;
      const outcome = await rotateWebhookSecret(deps, { endpointId: idOf(call), overlapMs }, context(call));
      if (outcome.kind === "notFound") throw new Problem("WEBHOOK_NOT_FOUND");
      invariant(outcome.kind === "rotated", "a rotation without an id is no repeat");
      return { ...(await shown(call)), secret: outcome.secret };
    },
    testWebhook: async ({ set, ...call }) => {
      const deliveryId = await testOrRefuse(deps, idOf(call), context(call));
      set.headers.location = `${basePath}/webhooks/${idOf(call)}/deliveries/${deliveryId}`;
      return { object: "webhook_test", delivery_id: deliveryId };
    },
  });
}

function overlapSeconds(inQuery: string | undefined, inBody: number | undefined): number {
  if (inQuery === undefined) return inBody ?? OVERLAP_SECONDS_DEFAULT;
  if (inBody !== undefined) throw invalid("/overlap_seconds", "is given twice, in the query and in the body");
  return Number(inQuery);
}

/** The change that a body asks for, checked. */
async function endpointChange(
  { url: text, description, event_types: types, include }: UpdateWebhookBody,
  rules: DestinationRules,
): Promise<EndpointChange> {
  const url = text === undefined ? undefined : await destinationOf(text, rules);
  return omitUndefined({ url, description, eventTypes: types, include });
}
