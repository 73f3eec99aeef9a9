import { afterEach, describe, expect, test } from "bun:test";
import { SECOND_MS } from "../../../src/kernel/time.ts";
import type { EventStore } from "../../../src/ports/eventStore.ts";
import { until } from "../../support/until.ts";
import { answered, webhookTestWorld } from "../webhookDelivery/webhookFixtures.ts";
import { appendForeign, deliveryWorld } from "./deliveryFixtures.ts";

const LEASE_MS = 120 * SECOND_MS;
/** More than one query returns. */
const MANY = 600;

let close: () => Promise<void> = async () => {};
afterEach(() => close());

async function mailWorld() {
  const world = await deliveryWorld();
  close = () => world.close();
  return world;
}

function webhookWorld() {
  const world = webhookTestWorld();
  close = () => world.close();
  return world;
}

/** Lets time pass in which a worker that takes no rest would look again: it pauses for a quarter of a second. */
async function quietTime(): Promise<void> {
  const end = performance.now() + 600;
  await until(() => performance.now() > end);
}

/** Appends an event of a type that no version of this program has had yet. */
async function poison(store: EventStore, stream: string): Promise<void> {
  const last = await store.lastRevision(stream);
  const event = { id: crypto.randomUUID(), type: "LaunchedToTheMoon", data: {}, metadata: { schema: 1 } };
  await store.append(stream, [event], last ?? "noStream");
}

describe("a message that cannot be read", () => {
  test("does not delay others, even when there are many like it", async () => {
    const world = await mailWorld();
    const poisoned = new Set<string>();
    for (let index = 0; index < MANY; index += 1) poisoned.add(await world.accept(`poisoned-${index}`));
    const healthy = [await world.accept("healthy-1"), await world.accept("healthy-2")];
    for (const id of poisoned) await poison(world.store, `email-${id}`);
    const instance = await world.start({ hasAccepted: false });
    for (const id of healthy) await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
    const later = await world.accept("healthy-3");
    await world.untilEvents(later, "EmailDeliveryStarted", "EmailSent");
    await until(() => instance.failures.length >= MANY, "each to be read once");
    await world.settle();
    // The clock stands still, so none of them is due for a retry.
    expect(instance.failures).toHaveLength(MANY);
    expect(new Set(instance.failures.map(({ id }) => id))).toEqual(poisoned);
    expect(world.relay.sent).toHaveLength(healthy.length + 1);
  });

  test("is retried after ever longer rests", async () => {
    const world = await mailWorld();
    const id = await world.accept("poisoned");
    await poison(world.store, `email-${id}`);
    const instance = await world.start({ hasAccepted: false });
    await until(() => instance.failures.length === 1, "the first read");
    await quietTime();
    let reads = 1;
    for (const backoffMs of [500, 1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000]) {
      await until(() => instance.failures.length === reads, `look ${reads}`);
      world.pass(backoffMs - 1);
      await world.settle();
      expect(instance.failures).toHaveLength(reads);
      world.pass(1);
      reads += 1;
    }
    await until(() => instance.failures.length === reads, "the last read");
    expect(String(instance.failures[0]?.error)).toContain(`LaunchedToTheMoon (email-${id}, revision 2)`);
  });

  test("but is claimed has its lease checked after ever longer rests", async () => {
    const world = await mailWorld();
    const claim = { attempt: 1, worker: "dead", leaseMs: LEASE_MS, transport: "smtp" };
    const id = await world.accept("poisoned");
    await appendForeign(world, id, { type: "EmailDeliveryStarted", data: claim });
    await poison(world.store, `email-${id}`);
    const instance = await world.start();
    await world.settle();
    world.pass(LEASE_MS);
    await until(() => instance.failures.length === 1, "the first read");
    await quietTime();
    for (const [reads, backoffMs] of [500, 1_000, 2_000].entries()) {
      await until(() => instance.failures.length === reads + 1, `look ${reads}`);
      world.pass(backoffMs - 1);
      await world.settle();
      expect(instance.failures).toHaveLength(reads + 1);
      world.pass(1);
    }
  });
});

describe("a webhook delivery that cannot be read", () => {
  test("does not delay others of its endpoint, and is retried after ever longer rests", async () => {
    const world = webhookWorld();
    world.endpoints.answer = (_, nth) => answered(nth === 1 ? 500 : 200);
    const endpoint = await world.register("hooks");
    const first = await world.start();
    const poisoned = await world.test(endpoint);
    if (poisoned === null) throw new Error("the test event was refused");
    await world.untilEvents(poisoned, "WebhookAttemptStarted", "WebhookAttemptFailed");
    await first.stop();
    await poison(world.store, `webhookdelivery-${poisoned}`);
    world.pass(3_600 * SECOND_MS);

    const instance = await world.start();
    await until(() => instance.failures.length === 1, "the failure report");
    await quietTime();
    await world.addEvent();
    await until(() => world.endpoints.receivedCalls.length === 2, "the other delivery");
    await world.settle();
    expect(instance.failures).toHaveLength(1);
    world.pass(500);
    await until(() => instance.failures.length === 2, "the second read");
    world.pass(999);
    await world.settle();
    expect(instance.failures).toHaveLength(2);
    expect(instance.failures.map(({ id }) => id)).toEqual([poisoned, poisoned]);
  });
});
