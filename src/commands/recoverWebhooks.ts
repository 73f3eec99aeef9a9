import type { DeliveryOrigin } from "../domain/webhookDelivery/events.ts";
import type { WorkspaceOccasion } from "../kernel/metadata.ts";
import type { EventStore } from "../ports/eventStore.ts";
import { redeliverWebhook } from "./recordWebhookAttempt.ts";

/** Deliveries that are asked for again at once. */
const PARALLEL_MAX = 16;

/** A delivery that failed. */
export interface FailedWebhook {
  readonly id: string;
  readonly origin: DeliveryOrigin;
}

/** Asks for each of these deliveries once more; what waits or is under way meanwhile is left alone. Answers how many. */
export async function recoverWebhooks(
  store: EventStore,
  failed: Iterable<FailedWebhook>,
  occasion: WorkspaceOccasion,
): Promise<number> {
  const remaining = failed[Symbol.iterator]();
  let requested = 0;
  const work = async () => {
    for (let next = remaining.next(); !next.done; next = remaining.next()) {
      const { id, origin } = next.value;
      if ((await redeliverWebhook(store, id, origin, occasion)) === "requested") requested += 1;
    }
  };
  await Promise.all(Array.from({ length: PARALLEL_MAX }, work));
  return requested;
}
