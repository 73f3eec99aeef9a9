import {
  failedWebhooks,
  isMissed,
  originOf,
  retryingWebhooks,
  type WebhookDeliveryRow,
  webhookDelivery,
} from "../../../projections/webhookDeliveries/queries.ts";
import type { WebhookEndpointRow } from "../../../projections/webhookEndpoints.ts";
import type { Principal } from "../../commands/apiKey/authenticate.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { readEmailHistory } from "../../commands/email/emailHistory.ts";
import { readWebhookHistory } from "../../commands/webhookDelivery/readWebhookDelivery.ts";
import {
  recoverFailedDeliveries,
  redeliverWebhook,
} from "../../commands/webhookDelivery/redeliverWebhook.ts";
import { mapToWebhookEvent, withIncluded } from "../../commands/webhookDelivery/webhookPayload.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { webhookDeliveryId } from "../../kernel/ids.ts";
import type { ReadDatabase } from "../../ports/readDatabase.ts";
import {
  caughtUpRows,
  type ListSource,
  type ReadModel,
  scheduledRead,
  whenCaughtUp,
} from "../lists/caughtUpReads.ts";
import { found } from "../server/problem.ts";
import { redactPayload } from "./redactPayload.ts";
import { answerOpener, deliveryJson, RECOVERED_MAX, webhookHistoryJson } from "./webhookDeliveryResource.ts";

const RECOVERED_PER_QUERY = 500;

function requestOf(row: WebhookDeliveryRow) {
  return { id: row.id, origin: originOf(row), isMissed: isMissed(row) };
}

/** Requests a delivery again, unless it is in flight. Throws `StoreError`. */
export function redeliver(
  deps: Pick<Dependencies, "store">,
  row: WebhookDeliveryRow,
  context: WorkspaceCommandContext,
) {
  const { id, ...request } = requestOf(row);
  return redeliverWebhook(deps.store, id, request, context);
}

/** Adds all rows of a query, page by page, until there are no more or more than can be recovered. */
async function addPages(
  rows: WebhookDeliveryRow[],
  deliveries: ReadModel,
  query: (db: ReadDatabase, after: WebhookDeliveryRow | null) => readonly WebhookDeliveryRow[],
): Promise<void> {
  let after: WebhookDeliveryRow | null = null;
  while (rows.length <= RECOVERED_MAX) {
    const page = await scheduledRead(deliveries, (db) => query(db, after));
    rows.push(...page);
    if (page.length < RECOVERED_PER_QUERY) return;
    after = page.at(-1) ?? null;
  }
}

/**
 * Requests everything again that failed or was missed since a time (RFC 3339 in UTC), or waits for its next attempt, up to
 * {@link RECOVERED_MAX} deliveries; `hasMore` says whether there are more. Throws `StoreError`, and 503 if the rows do not
 * catch up.
 */
export async function recoverSince(
  { deps, readModel }: ListSource,
  since: { readonly endpointId: string; readonly since: string },
  context: WorkspaceCommandContext,
): Promise<{ readonly requested: number; readonly hasMore: boolean }> {
  const deliveries = readModel("webhook-deliveries");
  await whenCaughtUp(deliveries);
  const rows: WebhookDeliveryRow[] = [];
  await addPages(rows, deliveries, (db, after) => failedWebhooks(db, since, after, RECOVERED_PER_QUERY));
  const retrying = { ...since, now: context.at };
  await addPages(rows, deliveries, (db, after) => retryingWebhooks(db, retrying, after, RECOVERED_PER_QUERY));
  const failed = rows.slice(0, RECOVERED_MAX).map(requestOf);
  const requested = await recoverFailedDeliveries(deps.store, failed, context);
  return { requested, hasMore: rows.length > RECOVERED_MAX };
}

/**
 * A delivery to an endpoint, with its attempts and the payload that it would be sent now, as this key may see them.
 * Throws `StoreError`.
 */
export async function deliveryWithAttempts(
  deps: Dependencies,
  { include }: Pick<WebhookEndpointRow, "include">,
  row: WebhookDeliveryRow,
  principal: Pick<Principal, "scopes">,
) {
  const history = await readWebhookHistory(deps.store, row.id);
  const { payload, answer } = withIncluded(await mapToWebhookEvent(deps, originOf(row)), include);
  const shown = redactPayload(payload, principal);
  const open = answerOpener(deps.keys, answer);
  const told = webhookHistoryJson(history, isMissed(row), (ending) => shown.shownAnswer(open(ending)));
  return { ...deliveryJson(row), ...told, payload: shown.payload };
}

/** The ids that the deliveries of a message's events to an endpoint have, if there are such. Throws `StoreError`. */
export async function deliveryIdsOf(
  { store }: Pick<Dependencies, "store">,
  { emailId, endpointId }: { readonly emailId: string; readonly endpointId: string },
): Promise<readonly string[]> {
  const { events } = await readEmailHistory(store, emailId.toLowerCase());
  return events.map(({ id }) => webhookDeliveryId(id, endpointId));
}

/** A delivery to an endpoint. Throws NOT_FOUND. */
export async function existingDelivery(
  deliveries: ReadModel,
  endpointId: string,
  id: string,
): Promise<WebhookDeliveryRow> {
  return found(webhookDelivery(await caughtUpRows(deliveries), endpointId, id));
}
