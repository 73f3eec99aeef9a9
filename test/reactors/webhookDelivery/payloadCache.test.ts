import { expect, test } from "bun:test";
import type { MappedEvent } from "../../../src/commands/webhookDelivery/webhookPayload.ts";
import type { DeliveryOrigin } from "../../../src/domain/webhookDelivery/events.ts";
import { payloadCache } from "../../../src/reactors/webhookDelivery/payloadCache.ts";
import { until } from "../../support/until.ts";

const ORIGIN: DeliveryOrigin = {
  workspaceId: "w",
  endpointId: "e",
  eventId: "event",
  eventStream: "email-1",
  eventRevision: 1,
  eventType: "email.queued",
};

test("a payload is read once for several endpoints, and again after a second, when it may be erased", async () => {
  let reads = 0;
  const payloadOf = payloadCache(async () => {
    reads += 1;
    return null as unknown as MappedEvent;
  });
  await Promise.all(["shop", "books"].map((endpointId) => payloadOf({ ...ORIGIN, endpointId })));
  expect(reads).toBe(1);
  await until(
    async () => {
      await payloadOf(ORIGIN);
      return reads === 2;
    },
    "a second read",
    5_000,
  );
});
