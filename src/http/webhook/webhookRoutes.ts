import { Elysia } from "elysia";
import { listWebhookEndpoints } from "../../../projections/webhookEndpoints.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { registerWebhook } from "../../commands/webhook/registerWebhook.ts";
import { ENDPOINTS_MAX } from "../../domain/webhook/decisions.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import { decodeCursor, pageItems, pageOf } from "../lists/cursorPaging.ts";
import { authorize, authorizeThenRead } from "../server/authorization.ts";
import { Problem } from "../server/problem.ts";
import { commandContextOf, principalOf } from "../server/requestContext.ts";
import { routes } from "../server/routes.ts";
import { checkEventTypes, endpointJson } from "./webhookEndpointJson.ts";
import { ListWebhooksQuery, RegisterWebhookBody } from "./webhookEndpointSchemas.ts";
import { type DestinationRules, destinationOf } from "./webhookUrl.ts";

export interface WebhooksOptions {
  readonly deps: Dependencies;
  /** The path of BASE_URL, "" or "/prefix": links begin with it. */
  readonly basePath: string;
  readonly rules: DestinationRules;
  /** The rows of `webhook-endpoints`, holding everything that was written of this workspace before the call; else 503. */
  readonly caughtUpEndpoints: (workspaceId: string) => Promise<ReadDatabase>;
}

const REFUSALS = { alreadyExists: "WEBHOOK_ALREADY_EXISTS", limitReached: "WEBHOOK_LIMIT_REACHED" } as const;

/** Registering and listing webhook endpoints. */
export function webhooksController({ deps, basePath, rules, caughtUpEndpoints }: WebhooksOptions) {
  return new Elysia({ normalize: false })
    .post(
      routes.registerWebhook.path,
      async ({ body, request, set }) => {
        checkEventTypes(body.event_types ?? null);
        const url = await destinationOf(body.url, rules);
        const description = body.description ?? null;
        const eventTypes = body.event_types ?? null;
        const context = commandContextOf(request, deps);
        const { workspaceId } = principalOf(request);
        const outcome = await registerWebhook(deps, {
          workspaceId,
          url,
          description,
          eventTypes,
          context,
        });
        if (outcome.kind !== "registered") throw new Problem(REFUSALS[outcome.kind]);
        set.status = 201;
        const { id, createdAt, secret } = outcome;
        set.headers.location = `${basePath}/webhooks/${id}`;
        const row = { id, url, description, eventTypes, createdAt, updatedAt: createdAt };
        return { ...endpointJson({ ...row, status: "active", disabledReason: null }), secret };
      },
      { parse: authorizeThenRead(deps, routes.registerWebhook), body: RegisterWebhookBody },
    )
    .get(
      routes.listWebhooks.path,
      async ({ query, request }) => {
        const { workspaceId } = principalOf(request);
        const after = query.cursor === undefined ? {} : { after: decodeCursor(query.cursor) };
        const endpoints = await caughtUpEndpoints(workspaceId);
        if (query.limit === undefined && query.cursor === undefined) {
          return {
            data: listWebhookEndpoints(endpoints, workspaceId, { limit: ENDPOINTS_MAX }).map(endpointJson),
          };
        }
        const limit = pageItems(query.limit);
        const rows = listWebhookEndpoints(endpoints, workspaceId, { ...after, limit: limit + 1 });
        const { shown, nextCursor } = pageOf(rows, limit);
        return { data: shown.map(endpointJson), next_cursor: nextCursor };
      },
      { transform: authorize(deps, routes.listWebhooks), query: ListWebhooksQuery },
    );
}
