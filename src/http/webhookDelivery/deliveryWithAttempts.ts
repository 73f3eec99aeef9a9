import { isMissed, type WebhookDeliveryRow } from "../../../projections/webhookDeliveries/queries.ts";
import type { Dependencies } from "../../commands/dependencies.ts";
import { readWebhookHistory } from "../../commands/webhookDelivery/webhookAttempts.ts";
import { mapToWebhookEvent } from "../../commands/webhookDelivery/webhookPayload.ts";
import { originOf } from "./redelivery.ts";
import { answerOpener, deliveryJson, webhookHistoryJson } from "./webhookDeliveryResource.ts";

/** A delivery with its attempts and its payload. Throws `StoreError`. */
export async function deliveryWithAttempts(deps: Dependencies, row: WebhookDeliveryRow) {
  const history = await readWebhookHistory(deps.store, row.id);
  const { payload, answer } = await mapToWebhookEvent(deps, originOf(row));
  const told = webhookHistoryJson(history, isMissed(row), answerOpener(deps.keys, answer));
  return { ...deliveryJson(row), ...told, payload };
}
