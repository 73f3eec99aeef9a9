import { Elysia } from "elysia";
import { webhookEndpoint } from "../../../projections/webhookEndpoints.ts";
import {
  deleteWebhookEndpoint,
  disableWebhookEndpoint,
  type EndpointChange,
  enableWebhookEndpoint,
  rotateWebhookSecret,
  testWebhookEndpoint,
  updateWebhookEndpoint,
} from "../../commands/webhook/manageWebhooks.ts";
import { wholeNumber } from "../../kernel/text/wholeNumber.ts";
import { SECOND_MS } from "../../kernel/time.ts";
import { NoQuery } from "../body/commonSchemas.ts";
import {
  authorize,
  authorizeThenRead,
  authorizeThenReadOptional,
  authorizeUnread,
} from "../server/authorization.ts";
import { invalid, Problem } from "../server/problem.ts";
import { commandContextOf, principalOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";
import { checkEventTypes, endpointJson, webhookId } from "./webhookEndpointJson.ts";
import { RotateSecretBody, RotateSecretQuery, UpdateWebhookBody } from "./webhookEndpointSchemas.ts";
import type { WebhooksOptions } from "./webhookRoutes.ts";
import { type DestinationRules, destinationOf } from "./webhookUrl.ts";

const ROTATION = { query: RotateSecretQuery, body: RotateSecretBody };
/** How long two secrets sign after a rotation, unless it is said. */
const OVERLAP_SECONDS_DEFAULT = 86_400;

interface Call {
  readonly request: Request;
  readonly params: { readonly id: string };
}

/** Reading, changing and deleting one webhook endpoint, rotating its secret, testing it. */
export function webhookEndpointsController(options: WebhooksOptions) {
  const { deps, basePath, rules, caughtUpEndpoints } = options;
  const nameOf = ({ request, params }: Call) => {
    return { workspaceId: principalOf(request).workspaceId, endpointId: webhookId("/id", params.id) };
  };
  const shown = async (call: Call) => {
    const { workspaceId, endpointId } = nameOf(call);
    const row = webhookEndpoint(await caughtUpEndpoints(workspaceId), workspaceId, endpointId);
    if (row === null) throw new Problem("WEBHOOK_NOT_FOUND");
    return endpointJson(row);
  };
  const context = ({ request }: Call) => commandContextOf(request, deps);

  return new Elysia({ normalize: false })
    .get(routes.getWebhook.path, shown, {
      transform: authorize(deps, routes.getWebhook),
      query: NoQuery,
    })
    .patch(
      routes.updateWebhook.path,
      async ({ body, ...call }) => {
        const change = await endpointChange(body, rules);
        const outcome = await updateWebhookEndpoint(deps, nameOf(call), change, context(call));
        if (outcome === "alreadyExists") throw new Problem("WEBHOOK_ALREADY_EXISTS");
        if (outcome === "notFound") throw new Problem("WEBHOOK_NOT_FOUND");
        return shown(call);
      },
      { parse: authorizeThenRead(deps, routes.updateWebhook), body: UpdateWebhookBody },
    )
    .delete(
      routes.deleteWebhook.path,
      async ({ set, ...call }) => {
        const outcome = await deleteWebhookEndpoint(deps, nameOf(call), context(call));
        if (outcome === "notFound") throw new Problem("WEBHOOK_NOT_FOUND");
        set.status = 204;
      },
      { parse: authorizeUnread(deps, routes.deleteWebhook), query: NoQuery },
    )
    .post(
      routes.disableWebhook.path,
      async (call) => {
        await disableWebhookEndpoint(deps, nameOf(call), "manual", context(call));
        return shown(call);
      },
      { parse: authorizeUnread(deps, routes.disableWebhook), query: NoQuery },
    )
    .post(
      routes.enableWebhook.path,
      async (call) => {
        await enableWebhookEndpoint(deps, nameOf(call), context(call));
        return shown(call);
      },
      { parse: authorizeUnread(deps, routes.enableWebhook), query: NoQuery },
    )
    .post(
      routes.rotateWebhookSecret.path,
      async ({ query, body, ...call }) => {
        const overlapMs = overlapSeconds(query.overlap_seconds, body.overlap_seconds) * SECOND_MS;
        const rotated = await rotateWebhookSecret(deps, nameOf(call), overlapMs, context(call));
        if (rotated === null) throw new Problem("WEBHOOK_NOT_FOUND");
        return { ...(await shown(call)), secret: rotated.secret };
      },
      { parse: authorizeThenReadOptional(deps, routes.rotateWebhookSecret), ...ROTATION },
    )
    .post(
      routes.testWebhook.path,
      async ({ set, ...call }) => {
        const outcome = await testWebhookEndpoint(deps, nameOf(call), context(call));
        if (outcome.kind !== "requested") {
          throw new Problem(outcome.kind === "disabled" ? "WEBHOOK_DISABLED" : "WEBHOOK_NOT_FOUND");
        }
        const { deliveryId } = outcome;
        set.status = 202;
        set.headers.location = `${basePath}/webhooks/${nameOf(call).endpointId}/deliveries/${deliveryId}`;
        return { object: "webhook_test", delivery_id: deliveryId };
      },
      { parse: authorizeUnread(deps, routes.testWebhook), query: NoQuery },
    );
}

function overlapSeconds(inQuery: string | undefined, inBody: number | undefined): number {
  if (inQuery === undefined) return inBody ?? OVERLAP_SECONDS_DEFAULT;
  const seconds = wholeNumber(inQuery);
  if (inBody !== undefined) throw invalid("/overlap_seconds", "is given twice, in the query and in the body");
  if (seconds === null) throw invalid("/overlap_seconds", "is not a whole number");
  return seconds;
}

/** What a body asks to be changed, checked. */
async function endpointChange(
  { url: text, description, event_types: types }: UpdateWebhookBody,
  rules: DestinationRules,
): Promise<EndpointChange> {
  if (text === undefined && description === undefined && types === undefined) {
    throw invalid("", "names nothing to change");
  }
  checkEventTypes(types ?? null);
  const url = text === undefined ? undefined : await destinationOf(text, rules);
  return {
    ...(url === undefined ? {} : { url }),
    ...(description === undefined ? {} : { description }),
    ...(types === undefined ? {} : { eventTypes: types }),
  };
}
