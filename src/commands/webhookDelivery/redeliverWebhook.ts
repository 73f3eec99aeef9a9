import {
  REDELIVERIES_PER_DAY_MAX,
  type RedeliveryRequest,
  requestRecovery,
  requestRedelivery,
} from "../../domain/webhookDelivery/decisions.ts";
import type { WebhookDeliveryState } from "../../domain/webhookDelivery/state.ts";
import { forEachConcurrently } from "../../kernel/concurrency/forEachConcurrently.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { webhookDeliveryAggregate } from "../aggregateDefinitions.ts";
import { ChangeRateError } from "../resourceChangeRateLimit.ts";
import { transact } from "../transact.ts";

/** Requests a delivery again. Throws `ChangeRateError` if that was done too often. */
export function redeliverWebhook(
  store: EventStore,
  id: string,
  request: RedeliveryRequest,
  context: WorkspaceCommandContext,
) {
  const decide = (state: WebhookDeliveryState) => requestRedelivery(state, request, context.at);
  return transact(store, redeliveryAggregate(id), decide, context);
}

function redeliveryAggregate(id: string) {
  return { ...webhookDeliveryAggregate.of(id), changesPerDayMax: REDELIVERIES_PER_DAY_MAX };
}

/** Deliveries requested again at the same time. */
const PARALLEL_MAX = 16;

/** A delivery that failed, was skipped or was missed. */
interface FailedWebhook extends RedeliveryRequest {
  readonly id: string;
}

/**
 * Like {@link redeliverWebhook}, unless it has been delivered meanwhile. False if the delivery is left alone, for example
 * because it was requested too often.
 */
async function recover(
  store: EventStore,
  { id, ...request }: FailedWebhook,
  context: WorkspaceCommandContext,
): Promise<boolean> {
  const decide = (state: WebhookDeliveryState) => requestRecovery(state, request, context.at);
  try {
    return (await transact(store, redeliveryAggregate(id), decide, context)) === "requested";
  } catch (error) {
    if (error instanceof ChangeRateError) return false;
    throw error;
  }
}

/**
 * Requests each of these deliveries again. Leaves alone those that were delivered, are due or are in flight by now, also if
 * two callers do this at once. Returns how many it requested.
 */
export function recoverFailedDeliveries(
  store: EventStore,
  failed: Iterable<FailedWebhook>,
  context: WorkspaceCommandContext,
): Promise<number> {
  return forEachConcurrently(failed, PARALLEL_MAX, (delivery) => recover(store, delivery, context));
}
