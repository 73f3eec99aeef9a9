import {
  isMissed,
  originOf,
  type WebhookDeliveryRow,
  webhookDelivery,
} from "../../../projections/webhookDeliveries/queries.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { readWebhookHistory } from "../../commands/webhookDelivery/webhookAttempts.ts";
import { mapToWebhookEvent } from "../../commands/webhookDelivery/webhookPayload.ts";
import { caughtUpRows, type ReadModel } from "../lists/caughtUpReads.ts";
import { Problem } from "../server/problem.ts";
import { answerOpener, deliveryJson, webhookHistoryJson } from "./webhookDeliveryResource.ts";

/** A delivery with its attempts and its payload. Throws `StoreError`. */
export async function deliveryWithAttempts(deps: Dependencies, row: WebhookDeliveryRow) {
  const history = await readWebhookHistory(deps.store, row.id);
  const { payload, answer } = await mapToWebhookEvent(deps, originOf(row));
  const told = webhookHistoryJson(history, isMissed(row), answerOpener(deps.keys, answer));
  return { ...deliveryJson(row), ...told, payload };
}

/** A delivery to an endpoint. Throws NOT_FOUND. */
export async function existingDelivery(
  deliveries: ReadModel,
  endpointId: string,
  id: string,
): Promise<WebhookDeliveryRow> {
  const row = webhookDelivery(await caughtUpRows(deliveries), endpointId, id);
  if (row === null) throw new Problem("NOT_FOUND");
  return row;
}
