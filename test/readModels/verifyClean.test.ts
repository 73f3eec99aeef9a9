import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { projections } from "../../projections/index.ts";
import { DELIVERY_POLICY } from "../../src/domain/email/delivery/deliveryPolicy.ts";
import { emailStream } from "../../src/domain/email/events.ts";
import { webhooksStream } from "../../src/domain/webhook/events.ts";
import { metadataOf } from "../../src/kernel/event/eventMetadata.ts";
import type { EventStore } from "../../src/ports/eventStore.ts";
import { verifyReadModels } from "../../src/readModels/verifyReadModels.ts";
import { ACCEPTED_AT, play, stepsArbitrary } from "../support/emailHistories.ts";
import { memoryEventStore } from "../support/stores/memoryEventStore.ts";
import { append, followOnce, newStorage, unsynced } from "./followFixtures.ts";

const RUNS = 100;
/** Those that the stories of messages move. */
const MOVED = new Set(["emails", "attachment-use", "webhook-deliveries", "webhook-endpoints"]);
const moved = projections.filter(({ name }) => MOVED.has(name));

const histories = fc.array(fc.tuple(fc.uuid(), stepsArbitrary), { minLength: 1, maxLength: 6, size: "max" });

/** Appends interleaved histories of some messages, after two endpoints that subscribe to them. */
async function writeStories(
  store: EventStore,
  messages: typeof histories extends fc.Arbitrary<infer Of> ? Of : never,
) {
  const newEvent = (at: number, type: string, data: object) => {
    const metadata = metadataOf({ at, correlationId: "test", actor: "test", workspaceId: "workspace" });
    return { id: crypto.randomUUID(), type, data, metadata };
  };
  for (const endpointId of ["endpoint-1", "endpoint-2"]) {
    const endpoint = { workspaceId: "workspace", endpointId, url: "https://example.org", description: null };
    const data = { ...endpoint, eventTypes: null, sealedSecret: "none" };
    await append(
      store,
      webhooksStream("workspace"),
      newEvent(ACCEPTED_AT, "WebhookEndpointRegistered", data),
    );
  }
  const logs = messages.map(([id, steps]) => ({ id, events: [...play(steps, DELIVERY_POLICY).events] }));
  while (logs.some(({ events }) => events.length > 0)) {
    for (const { id, events } of logs) {
      const next = events.shift();
      if (next) await append(store, emailStream(id), newEvent(next.at, next.event.type, next.event.data));
    }
  }
}

describe("verify", () => {
  test(`finds no difference after following ${RUNS} logs`, async () => {
    let rows = 0;
    await fc.assert(
      fc.asyncProperty(histories, async (messages) => {
        const storage = { ...newStorage(), databases: unsynced };
        const store = memoryEventStore();
        await writeStories(store, messages);
        await followOnce(storage, store, [...moved]);
        const { signal } = new AbortController();
        const results = await verifyReadModels({ ...storage, store, projections: moved, signal });
        expect(results.filter(({ differences, failure }) => differences > 0 || failure !== null)).toEqual([]);
        rows += results.reduce((sum, result) => sum + result.rows, 0);
        storage.remove();
      }),
      { numRuns: RUNS },
    );
    expect(rows).toBeGreaterThan(RUNS);
  }, 240_000);
});
