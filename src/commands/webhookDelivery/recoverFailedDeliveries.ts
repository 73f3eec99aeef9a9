import type { RedeliveryRequest } from "../../domain/webhookDelivery/decisions.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import type { EventStore } from "../../ports/eventStore.ts";
import { ChangeRateError } from "../dailyChangeLimit.ts";
import { recoverDelivery } from "./redeliverWebhook.ts";

/** Deliveries that are asked for again at once. */
const PARALLEL_MAX = 16;

/** A delivery that failed, was skipped or was missed. */
export interface FailedWebhook extends RedeliveryRequest {
  readonly id: string;
}

/** As {@link recoverDelivery}; one that was asked for too often is left alone, and takes the others nothing. */
async function recover(
  store: EventStore,
  { id, ...request }: FailedWebhook,
  context: WorkspaceCommandContext,
): Promise<"requested" | "leftAlone"> {
  try {
    const outcome = await recoverDelivery(store, id, request, context);
    return outcome === "requested" ? "requested" : "leftAlone";
  } catch (error) {
    if (error instanceof ChangeRateError) return "leftAlone";
    throw error;
  }
}

/**
 * Asks for each of these deliveries once more. What was delivered, waits or is under way meanwhile is left alone, also
 * where two ask at once. Answers how many.
 */
export async function recoverFailedDeliveries(
  store: EventStore,
  failed: Iterable<FailedWebhook>,
  context: WorkspaceCommandContext,
): Promise<number> {
  const remaining = failed[Symbol.iterator]();
  let requested = 0;
  const work = async () => {
    for (let next = remaining.next(); !next.done; next = remaining.next()) {
      if ((await recover(store, next.value, context)) === "requested") requested += 1;
    }
  };
  await Promise.all(Array.from({ length: PARALLEL_MAX }, work));
  return requested;
}
