import {
  type RedeliveryRequest,
  requestRecovery,
  requestRedelivery,
} from "../../domain/webhookDelivery/decisions.ts";
import type { WebhookDeliveryState } from "../../domain/webhookDelivery/state.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { webhookDeliveryAggregate } from "../aggregateDefinitions.ts";
import { transact } from "../transact.ts";

/** How often callers may ask for one delivery again in a day: all of its attempts are read for each. */
const REDELIVERIES_PER_DAY_MAX = 20;

/** Asks for a delivery once more. Throws `ChangeRateError` when that was done too often. */
export function redeliverWebhook(
  store: EventStore,
  id: string,
  request: RedeliveryRequest,
  context: WorkspaceCommandContext,
) {
  const decide = (state: WebhookDeliveryState) => requestRedelivery(state, request, context.at);
  return transact(store, redeliveryAggregate(id), decide, context);
}

/** As {@link redeliverWebhook}, unless it has been delivered meanwhile. */
export function recoverDelivery(
  store: EventStore,
  id: string,
  request: RedeliveryRequest,
  context: WorkspaceCommandContext,
) {
  const decide = (state: WebhookDeliveryState) => requestRecovery(state, request, context.at);
  return transact(store, redeliveryAggregate(id), decide, context);
}

function redeliveryAggregate(id: string) {
  return {
    ...webhookDeliveryAggregate.of(id),
    changesPerDayMax: REDELIVERIES_PER_DAY_MAX,
  };
}
