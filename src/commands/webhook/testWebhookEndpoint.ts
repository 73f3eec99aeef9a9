import { type EndpointRefusal, requestTest } from "../../domain/webhook/decisions.ts";
import { webhooksStream } from "../../domain/webhook/events.ts";
import { invariant } from "../../kernel/assert.ts";
import type { WorkspaceCommandContext } from "../../kernel/event/commandContext.ts";
import { webhookDeliveryId } from "../../kernel/ids.ts";
import { ConflictRetry } from "../conflictRetry.ts";
import { resourceChangeRateLimit } from "../resourceChangeRateLimit.ts";
import { queueStreamWrite } from "../streamWriteQueue.ts";
import { toNewEvents } from "../transact.ts";
import type { EndpointDependencies } from "./transactEndpoints.ts";

/** How often callers may test a workspace's endpoints in a day: each test is an event in the endpoints' stream. */
const TESTS_PER_DAY_MAX = 1_000;

type TestOutcome =
  | { readonly kind: "requested"; readonly deliveryId: string }
  | { readonly kind: "disabled" | EndpointRefusal };

/**
 * Sends a test event to one endpoint. Returns the id of its delivery. Throws `ChangeRateError` after too many tests;
 * changes are counted separately, so an endpoint can still be disabled then.
 */
export async function testWebhookEndpoint(
  deps: EndpointDependencies,
  endpointId: string,
  context: WorkspaceCommandContext,
): Promise<TestOutcome> {
  const { workspaceId } = context;
  const { outcome, events } = requestTest(await deps.webhooks.get(workspaceId), endpointId);
  if (outcome !== "requested") return { kind: outcome };
  const stream = webhooksStream(workspaceId);
  const rate = resourceChangeRateLimit(deps.store, `${stream} tests`, context, TESTS_PER_DAY_MAX);
  return queueStreamWrite(deps.store, stream, async () => {
    rate.check();
    // Each test is a new event, whatever happens to the endpoint meanwhile: only the revision is contended.
    const retry = new ConflictRetry(stream);
    for (;;) {
      const [event] = toNewEvents(events, context);
      invariant(event, "one event in, one event out");
      const revision = (await deps.store.lastRevision(stream)) ?? "noStream";
      const result = await deps.store.append(stream, [event], revision);
      if (result.outcome === "appended") {
        rate.count();
        return { kind: "requested", deliveryId: webhookDeliveryId(event.id, endpointId) };
      }
      await retry.lost();
    }
  });
}
