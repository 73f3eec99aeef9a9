import { Elysia } from "elysia";
import {
  listWebhookEndpoints,
  type WebhookEndpointRow,
  webhooksRevision,
} from "../../projections/webhookEndpoints.ts";
import { registerWebhook } from "../commands/registerWebhook.ts";
import type { Services } from "../commands/services.ts";
import { ENDPOINTS_MAX } from "../domain/webhook/decisions.ts";
import { normaliseDestination } from "../domain/webhook/destination.ts";
import { WEBHOOK_EVENT_TYPES, webhooksStream } from "../domain/webhook/events.ts";
import type { ReadDatabase } from "../ports/readDatabase.ts";
import { authorize, authorizeThenRead, occasionOf, principalOf } from "./frontDoor.ts";
import { decodeCursor, PAGE_ITEMS_DEFAULT, pageOf } from "./paging.ts";
import { invalid, Problem } from "./problem.ts";
import { routes } from "./routes.ts";
import { ListWebhooksQuery, RegisterWebhookBody } from "./webhookSchemas.ts";

interface WebhooksOptions {
  readonly services: Services;
  /** The read model `webhook-endpoints`. */
  readonly endpoints: ReadDatabase;
  /** Waits until its rows satisfy `ready`, looking again whenever they move; false after `timeoutMs`. */
  readonly whenEndpoints: (ready: (db: ReadDatabase) => boolean, timeoutMs: number) => Promise<boolean>;
}

/** How long a list waits for the read model to hold what was written before it was asked for. */
const LIST_WAIT_MS = 1_000;

const REFUSALS = { alreadyExists: "WEBHOOK_ALREADY_EXISTS", limitReached: "WEBHOOK_LIMIT_REACHED" } as const;

/** Registering and listing webhook endpoints. */
export function webhooksController({ services, endpoints, whenEndpoints }: WebhooksOptions) {
  return new Elysia({ normalize: false })
    .post(
      routes.registerWebhook.path,
      async ({ body, request, set }) => {
        const url = normaliseDestination(body.url);
        checkEventTypes(body.event_types ?? null);
        if (url === null) throw new Problem("INVALID_WEBHOOK_URL");
        const description = body.description ?? null;
        const eventTypes = body.event_types ?? null;
        const occasion = occasionOf(request, services);
        const { workspaceId } = principalOf(request);
        const outcome = await registerWebhook(services, {
          workspaceId,
          url,
          description,
          eventTypes,
          occasion,
        });
        if (outcome.kind !== "registered") throw new Problem(REFUSALS[outcome.kind]);
        set.status = 201;
        const { id, createdAt, secret } = outcome;
        const row = { id, url, description, eventTypes, createdAt, updatedAt: createdAt };
        return { ...endpointJson({ ...row, status: "active", disabledReason: null }), secret };
      },
      { parse: authorizeThenRead(services, routes.registerWebhook), body: RegisterWebhookBody },
    )
    .get(
      routes.listWebhooks.path,
      async ({ query, request }) => {
        const { workspaceId } = principalOf(request);
        const after = query.cursor === undefined ? {} : { after: decodeCursor(query.cursor) };
        const written = (await services.store.lastRevision(webhooksStream(workspaceId))) ?? -1;
        const holdsAll = (db: ReadDatabase) => webhooksRevision(db, workspaceId) >= written;
        if (!(await whenEndpoints(holdsAll, LIST_WAIT_MS))) {
          throw new Problem("INTERNAL_ERROR", {
            unavailable: true,
            detail: "the list is not up to date yet",
          });
        }
        if (query.limit === undefined && query.cursor === undefined) {
          return {
            data: listWebhookEndpoints(endpoints, workspaceId, { limit: ENDPOINTS_MAX }).map(endpointJson),
          };
        }
        const limit = query.limit === undefined ? PAGE_ITEMS_DEFAULT : Number(query.limit);
        const rows = listWebhookEndpoints(endpoints, workspaceId, { ...after, limit: limit + 1 });
        const { shown, nextCursor } = pageOf(rows, limit);
        return { data: shown.map(endpointJson), next_cursor: nextCursor };
      },
      { transform: authorize(services, routes.listWebhooks), query: ListWebhooksQuery },
    );
}

function checkEventTypes(types: readonly string[] | null): void {
  types?.forEach((type, index) => {
    if (!(WEBHOOK_EVENT_TYPES as readonly string[]).includes(type)) {
      throw invalid(`/event_types/${index}`, `is not one of ${WEBHOOK_EVENT_TYPES.join(", ")}`);
    }
  });
}

function endpointJson(row: WebhookEndpointRow) {
  return {
    id: row.id,
    object: "webhook_endpoint",
    url: row.url,
    description: row.description,
    event_types: row.eventTypes,
    status: row.status,
    disabled_reason: row.disabledReason,
    created_at: row.createdAt,
    updated_at: row.updatedAt,
  };
}
