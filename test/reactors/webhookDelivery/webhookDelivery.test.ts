import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { openSqliteEventStore } from "../../../src/adapters/sqlite/sqliteEventStore.ts";
import type { WebhookDeliveryEvent } from "../../../src/domain/webhookDelivery/events.ts";
import { LEASE_EXPIRED } from "../../../src/domain/webhookDelivery/state.ts";
import { webhookDeliveryId } from "../../../src/kernel/ids.ts";
import type { WebhookOutcome } from "../../../src/kernel/outcome/webhookOutcome.ts";
import { HOUR_MS, MINUTE_MS, rfc3339, SECOND_MS } from "../../../src/kernel/time.ts";
import { StoreError } from "../../../src/ports/eventStore.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";
import { until } from "../../support/until.ts";
import { failAfterAppendOnce, writeLateOnce } from "../email/deliveryFixtures.ts";
import { answered, type WebhookTestWorld, webhookTestWorld } from "./webhookFixtures.ts";

const LEASE_MS = 30 * SECOND_MS;
/** What begins an attempt and fails it. */
const FAILED = ["WebhookAttemptStarted", "WebhookAttemptFailed"] as const;
const DELIVERED = ["WebhookAttemptStarted", "WebhookDelivered"] as const;

let world: WebhookTestWorld;
beforeEach(() => {
  world = webhookTestWorld();
});
afterEach(() => world.close());

const gate = () => Promise.withResolvers<WebhookOutcome>();
const unavailable = () => new StoreError("unavailable", "the store is unavailable");
const urlOf = (name: string) => `https://${name}.example.org/`;
const callsTo = (name: string) => world.endpoints.receivedCalls.filter(({ url }) => url === urlOf(name));
const idsOf = (calls: readonly { readonly id: string }[]) => calls.map(({ id }) => id);

async function lastEvent(id: string): Promise<WebhookDeliveryEvent> {
  const event = (await world.events(id)).at(-1);
  if (event === undefined) throw new Error("it has no events");
  return event;
}

/** Causes so many events; returns the ids of their deliveries to the endpoint. */
async function addDeliveries(endpointId: string, count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1)
    ids.push(webhookDeliveryId(await world.addEvent(), endpointId));
  return ids;
}

describe("an event", () => {
  test("is delivered once to each endpoint subscribed to it, and to no other", async () => {
    const all = await world.register("all");
    const asking = await world.register("asking", ["suppression.created"]);
    await world.register("other", ["email.sent"]);
    const event = await world.addEvent();
    const instance = await world.start();
    for (const id of [all, asking]) await world.untilEvents(webhookDeliveryId(event, id), ...DELIVERED);
    await instance.caughtUp();
    await world.settle();
    world.pass(HOUR_MS);
    await world.settle();
    expect(idsOf(world.endpoints.receivedCalls).sort()).toEqual(
      [all, asking].map((id) => webhookDeliveryId(event, id)).sort(),
    );
    expect(world.endpoints.receivedCalls.map(({ type }) => type)).toEqual(
      Array(2).fill("suppression.created"),
    );
    expect(instance.failures).toEqual([]);
  });

  test("that arrives while workers are idle is delivered at once", async () => {
    const id = await world.register("shop");
    await world.start();
    const [delivery = ""] = await addDeliveries(id, 1);
    await world.untilEvents(delivery, ...DELIVERED);
  });

  test("is delivered once, one of many, by two instances that share the work", async () => {
    const ids = [await world.register("one"), await world.register("two")];
    const events: string[] = [];
    for (let index = 0; index < 100; index += 1) events.push(await world.addEvent());
    await Promise.all([world.start({ worker: "w1" }), world.start({ worker: "w2" })]);
    const deliveries = ids.flatMap((id) => events.map((event) => webhookDeliveryId(event, id)));
    await until(() => world.endpoints.receivedCalls.length >= deliveries.length, "all to be delivered");
    for (const delivery of deliveries) await world.untilEvents(delivery, ...DELIVERED);
    expect(idsOf(world.endpoints.receivedCalls).sort()).toEqual(deliveries.toSorted());
    expect(new Set(world.endpoints.receivedCalls.map(({ worker }) => worker)).size).toBe(2);
  });

  test("is delivered once on SQLite too, while one instance ends in the middle", async () => {
    const directory = temporaryFolder();
    const onDisk = webhookTestWorld(
      openSqliteEventStore({ path: join(directory, "events.db"), timeoutMs: 5_000 }),
    );
    const id = await onDisk.register("shop");
    const deliveries: string[] = [];
    for (let index = 0; index < 60; index += 1)
      deliveries.push(webhookDeliveryId(await onDisk.addEvent(), id));
    const [first] = await Promise.all([onDisk.start({ worker: "w1" }), onDisk.start({ worker: "w2" })]);
    await until(() => onDisk.endpoints.receivedCalls.length > 15, "some to be delivered");
    await first.stop();
    for (const delivery of deliveries) await onDisk.untilEvents(delivery, ...DELIVERED);
    expect(idsOf(onDisk.endpoints.receivedCalls).sort()).toEqual(deliveries.toSorted());
    await onDisk.close();
  });
});

describe("the schedule", () => {
  test("is followed to its end, and no call is made early", async () => {
    world.endpoints.answer = () => answered(500);
    const id = await world.register("shop");
    const waits = [0, 5 * SECOND_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 2 * HOUR_MS, 5 * HOUR_MS, 10 * HOUR_MS];
    const schedule = [...waits, 14 * HOUR_MS, 20 * HOUR_MS, 24 * HOUR_MS];
    const instance = await world.start();
    const [delivery = ""] = await addDeliveries(id, 1);
    const events: WebhookDeliveryEvent["type"][] = [...FAILED];
    await world.untilEvents(delivery, ...events);
    for (const wait of schedule.slice(1)) {
      await instance.caughtUp();
      world.pass(wait - 1);
      await world.settle();
      expect(world.endpoints.receivedCalls).toHaveLength(events.length / 2);
      world.pass(1);
      events.push(...FAILED);
      if (events.length === 2 * schedule.length) events.push("WebhookDeliveryExhausted");
      await world.untilEvents(delivery, ...events);
    }
    await instance.caughtUp();
    world.pass(30 * 24 * HOUR_MS);
    await world.settle();
    expect(world.endpoints.receivedCalls).toHaveLength(schedule.length);
    expect(new Set(idsOf(world.endpoints.receivedCalls))).toEqual(new Set([delivery]));
    expect((await lastEvent(delivery)).data).toEqual({ reason: "status" });
  });

  test("gives way to a Retry-After, up to twice the wait", async () => {
    world.endpoints.answer = (_, nth) => (nth === 1 ? answered(429, 7) : answered(503, 3_600));
    const id = await world.register("shop");
    const instance = await world.start();
    const [delivery = ""] = await addDeliveries(id, 1);
    await world.untilEvents(delivery, ...FAILED);
    await instance.caughtUp();
    world.pass(7 * SECOND_MS - 1);
    await world.settle();
    expect(world.endpoints.receivedCalls).toHaveLength(1);
    world.pass(1);
    await world.untilEvents(delivery, ...FAILED, ...FAILED);
    const nextAttemptAt = rfc3339(world.clock.now() + 10 * MINUTE_MS);
    expect((await lastEvent(delivery)).data).toMatchObject({ statusCode: 503, nextAttemptAt });
  });

  test("starts over when a redelivery is requested, under the same id", async () => {
    const id = await world.register("shop");
    const instance = await world.start();
    const [delivery = ""] = await addDeliveries(id, 1);
    await world.untilEvents(delivery, ...DELIVERED);
    world.endpoints.answer = (_, nth) => (nth === 2 ? answered(500) : answered(200));
    expect(await world.redeliver(delivery)).toBe("requested");
    await world.untilEvents(delivery, ...DELIVERED, "WebhookRedeliveryRequested", ...FAILED);
    await instance.caughtUp();
    world.pass(5 * SECOND_MS);
    await world.untilEvents(delivery, ...DELIVERED, "WebhookRedeliveryRequested", ...FAILED, ...DELIVERED);
    expect(idsOf(world.endpoints.receivedCalls)).toEqual([delivery, delivery, delivery]);
  });

  test("is kept by an instance whose read model lags behind another's attempt", async () => {
    const id = await world.register("shop");
    const event = await world.addEvent();
    const delivery = webhookDeliveryId(event, id);
    const origin = world.originOf(event, id);
    const started = (attempt: number): WebhookDeliveryEvent => {
      return { type: "WebhookAttemptStarted", data: { origin, attempt, worker: "other", leaseMs: LEASE_MS } };
    };
    const failed = (attempt: number, waitMs: number): WebhookDeliveryEvent => {
      const nextAttemptAt = rfc3339(world.clock.now() + waitMs);
      const data = { attempt, durationMs: 1, reason: "status", attemptBurnt: true, nextAttemptAt };
      return { type: "WebhookAttemptFailed", data };
    };
    await world.appendForeign(delivery, started(1), failed(1, 0));
    const held = Promise.withResolvers<void>();
    const { subscribe } = world.store;
    // What comes from here on reaches the read model late.
    const laggingStore = {
      ...world.store,
      async *subscribe(...args: Parameters<typeof subscribe>) {
        for await (const batch of subscribe(...args)) {
          yield batch;
          if (batch.caughtUp) await held.promise;
        }
      },
    };
    world.freeBytes = 0;
    const instance = await world.start({ store: laggingStore });
    await world.appendForeign(delivery, started(2), failed(2, HOUR_MS));
    world.freeBytes = 1_000_000;
    await world.settle();
    expect(world.endpoints.receivedCalls).toHaveLength(0);
    held.resolve();
    await instance.caughtUp();
    await world.settle();
    expect(world.endpoints.receivedCalls).toHaveLength(0);
    world.pass(HOUR_MS);
    await world.untilEvents(delivery, ...FAILED, ...FAILED, ...DELIVERED);
  });

  test("continues when a clock was set back: delivered when the time has come again", async () => {
    world.endpoints.answer = (_, nth) => answered(nth === 1 ? 500 : 200);
    const id = await world.register("shop");
    const instance = await world.start();
    const [delivery = ""] = await addDeliveries(id, 1);
    await world.untilEvents(delivery, ...FAILED);
    await instance.caughtUp();
    world.clock.setBack(HOUR_MS);
    await world.settle();
    expect(world.endpoints.receivedCalls).toHaveLength(1);
    world.pass(HOUR_MS + 5 * SECOND_MS);
    await world.untilEvents(delivery, ...FAILED, ...DELIVERED);
  });
});

test("events recorded while a clock was ahead are delivered once and at once when it is right again", async () => {
  const id = await world.register("shop");
  const ids = await addDeliveries(id, 50);
  world.clock.setBack(24 * HOUR_MS);
  const instance = await world.start();
  await instance.caughtUp();
  await until(() => {
    world.pass(SECOND_MS);
    return world.endpoints.receivedCalls.length >= ids.length;
  }, "all of them");
  for (const delivery of ids) await world.untilEvents(delivery, ...DELIVERED);
  await world.settle();
  expect(world.endpoints.receivedCalls.length).toBe(ids.length);
});

test("a delivery is not forgotten when the clock is set back while it is being checked", async () => {
  world.endpoints.answer = (_, nth) => answered(nth === 1 ? 500 : 200);
  const id = await world.register("shop");
  const instance = await world.start();
  const [delivery = ""] = await addDeliveries(id, 1);
  await world.untilEvents(delivery, ...FAILED);
  await instance.caughtUp();
  let hasClockMovedBack = false;
  world.store.beforeRead = () => {
    if (hasClockMovedBack || world.clock.now() < dueAt) return;
    hasClockMovedBack = true;
    world.clock.setBack(HOUR_MS);
  };
  const dueAt = world.clock.now() + 5 * SECOND_MS;
  world.pass(5 * SECOND_MS);
  await until(() => hasClockMovedBack, "the read of the delivery");
  await world.settle();
  expect(world.endpoints.receivedCalls).toHaveLength(1);
  world.pass(HOUR_MS);
  await until(() => world.endpoints.receivedCalls.length === 2, "the second attempt");
});

describe("an endpoint", () => {
  test("that fails three calls in a row is reported once, and once when a call gets through", async () => {
    world.endpoints.answer = (_, nth) => answered(nth <= 4 ? 503 : 200);
    const endpointId = await world.register("shop");
    const { failingReports } = await world.start();
    for (const delivery of await addDeliveries(endpointId, 2)) await world.untilEvents(delivery, ...FAILED);
    expect(failingReports).toEqual([]);
    for (const delivery of await addDeliveries(endpointId, 2)) await world.untilEvents(delivery, ...FAILED);
    const endpoint = { workspaceId: world.workspaceId, endpointId };
    const began = { ...endpoint, report: { kind: "began", fault: "status: 503" } };
    expect<readonly unknown[]>(failingReports).toEqual([began]);
    const [delivery = ""] = await addDeliveries(endpointId, 1);
    await world.untilEvents(delivery, ...DELIVERED);
    const ended = { ...endpoint, report: { kind: "ended", forMs: 0, attempts: 4 } };
    expect<readonly unknown[]>(failingReports).toEqual([began, ended]);
  });

  test("that answers 410 is disabled, and gets no more deliveries", async () => {
    const id = await world.register("shop");
    const watching = await world.register("watching", ["webhook.disabled"]);
    world.endpoints.answer = ({ url }) => answered(url === urlOf("shop") ? 410 : 200);
    const instance = await world.start();
    const [delivery = ""] = await addDeliveries(id, 1);
    await world.untilEvents(delivery, ...FAILED, "WebhookDeliveryExhausted");
    await until(async () => (await world.disabledReason(id)) === "gone", "the end of the delivery");
    expect((await lastEvent(delivery)).data).toEqual({ reason: "gone" });
    await until(() => callsTo("watching").length === 1, "the event about it");
    await world.addEvent();
    await instance.caughtUp();
    await world.settle();
    expect(callsTo("shop")).toHaveLength(1);
    expect(instance.disabled).toEqual([{ workspaceId: expect.any(String), endpointId: id, reason: "gone" }]);
    expect(await world.disabledReason(watching)).toBeNull();
  });

  test("that moved while its old URL answered 410 stays active", async () => {
    const slow = gate();
    world.endpoints.answer = ({ url }) => (url === urlOf("shop") ? slow.promise : answered(200));
    const id = await world.register("shop");
    await world.start();
    const [delivery = ""] = await addDeliveries(id, 1);
    await until(() => callsTo("shop").length === 1, "the call");
    await world.update(id, { url: urlOf("moved") });
    slow.resolve(answered(410));
    await world.untilEvents(delivery, ...FAILED, "WebhookDeliveryExhausted");
    await world.settle();
    expect(await world.disabledReason(id)).toBeNull();
  });

  test.each(["deleted", "disabled"] as const)(
    "that was %s since has its deliveries skipped",
    async (change) => {
      const id = await world.register("shop");
      world.endpoints.answer = () => answered(500);
      const instance = await world.start();
      const [tried = ""] = await addDeliveries(id, 1);
      await world.untilEvents(tried, ...FAILED);
      await instance.stop();
      const [untried = ""] = await addDeliveries(id, 1);
      await (change === "deleted" ? world.delete(id) : world.disable(id));
      await world.start({ worker: "w2" });
      await world.untilEvents(untried, "WebhookDeliverySkipped");
      world.pass(5 * SECOND_MS);
      await world.untilEvents(tried, ...FAILED, "WebhookDeliverySkipped");
      const reason = change === "deleted" ? "endpoint_deleted" : "endpoint_disabled";
      expect((await lastEvent(untried)).data).toMatchObject({ reason, origin: { endpointId: id } });
      expect(world.endpoints.receivedCalls).toHaveLength(1);
    },
  );

  test.each(["registered", "enabled"] as const)(
    "that was %s elsewhere a moment ago is not treated as missing",
    async (change) => {
      const instance = await world.start({ worker: "w2" });
      const known = change === "enabled" ? await world.register("shop") : null;
      if (known) await world.disable(known);
      // From here on this instance remembers the endpoints as they are now.
      await instance.deps.webhooks.get(world.workspaceId);
      if (known) await world.enable(known);
      const id = known ?? (await world.register("shop"));
      const [delivery = ""] = await addDeliveries(id, 1);
      await world.untilEvents(delivery, ...DELIVERED);
    },
  );

  test("that is tested is the only one called, whatever it subscribed to", async () => {
    const id = await world.register("shop", ["email.sent"]);
    await world.register("other");
    await world.start();
    const delivery = await world.test(id);
    await world.untilEvents(delivery ?? "", ...DELIVERED);
    await world.settle();
    expect(world.endpoints.receivedCalls.map(({ url, type }) => [url, type])).toEqual([
      [urlOf("shop"), "webhook.test"],
    ]);
  });
});

describe("a lease", () => {
  const claimByDeadWorker = async (id: string) => {
    const event = await world.addEvent();
    const delivery = webhookDeliveryId(event, id);
    await world.appendForeign(delivery, {
      type: "WebhookAttemptStarted",
      data: { origin: world.originOf(event, id), attempt: 1, worker: "dead", leaseMs: LEASE_MS },
    });
    return delivery;
  };

  test("of a worker that is known to have ended expires at once", async () => {
    const delivery = await claimByDeadWorker(await world.register("shop"));
    await world.start({ endedWorker: "dead" });
    await world.untilEvents(delivery, ...FAILED);
    expect((await lastEvent(delivery)).data).toMatchObject({ attempt: 1, reason: LEASE_EXPIRED });
  });

  test("that expires fails its attempt, which is retried", async () => {
    const id = await world.register("shop");
    const delivery = await claimByDeadWorker(id);
    const instance = await world.start();
    await instance.caughtUp();
    // The lease counts from when the claim was first seen here; the worker checks every quarter of a second.
    await waitForLeaseCheck();
    world.pass(LEASE_MS - 1);
    await waitForLeaseCheck();
    expect(await world.events(delivery)).toHaveLength(1);
    world.pass(1);
    await world.untilEvents(delivery, ...FAILED);
    expect((await lastEvent(delivery)).data).toMatchObject({
      attempt: 1,
      reason: LEASE_EXPIRED,
      attemptBurnt: true,
    });
    await instance.caughtUp();
    expect(world.endpoints.receivedCalls).toHaveLength(0);
    world.pass(5 * SECOND_MS);
    await world.untilEvents(delivery, ...FAILED, ...DELIVERED);
  });

  test("that expired under a slow worker elsewhere still gets that worker's late outcome recorded", async () => {
    const slow = gate();
    world.endpoints.answer = ({ worker }) => (worker === "w1" ? slow.promise : answered(500));
    const id = await world.register("shop");
    await world.start({ worker: "w1" });
    const [delivery = ""] = await addDeliveries(id, 1);
    await until(() => world.endpoints.receivedCalls.length === 1, "the call");
    const second = await world.start({ worker: "w2" });
    await second.caughtUp();
    await waitForLeaseCheck();
    world.pass(LEASE_MS);
    await world.untilEvents(delivery, ...FAILED);
    await second.caughtUp();
    slow.resolve(answered(200));
    await world.untilEvents(delivery, ...FAILED, "WebhookDelivered");
    expect((await lastEvent(delivery)).data).toMatchObject({ attempt: 1, statusCode: 200 });
    world.pass(HOUR_MS);
    await world.settle();
    expect(world.endpoints.receivedCalls).toHaveLength(1);
  });

  test("is kept by a worker that is slow but alive in its own process", async () => {
    const slow = gate();
    world.endpoints.answer = () => slow.promise;
    const id = await world.register("shop");
    await world.start();
    const [delivery = ""] = await addDeliveries(id, 1);
    await until(() => world.endpoints.receivedCalls.length === 1, "the call");
    await waitForLeaseCheck();
    world.pass(10 * LEASE_MS);
    await waitForLeaseCheck();
    slow.resolve(answered(200));
    await world.untilEvents(delivery, ...DELIVERED);
  });

  test("whose delivery cannot be read delays neither the expiry nor the delivery of others", async () => {
    const id = await world.register("shop");
    const damaged = await claimByDeadWorker(id);
    const claimed = await claimByDeadWorker(id);
    world.store.beforeRead = (stream) => {
      if (stream.endsWith(damaged)) throw new Error("an event cannot be read");
    };
    const instance = await world.start();
    await instance.caughtUp();
    await waitForLeaseCheck();
    world.pass(LEASE_MS);
    await world.untilEvents(claimed, ...FAILED);
    await instance.caughtUp();
    world.pass(5 * SECOND_MS);
    await world.untilEvents(claimed, ...FAILED, ...DELIVERED);
    expect(instance.failures.every((failure) => failure.id === damaged)).toBe(true);
  });

  /** Longer than the interval between two lease checks. */
  async function waitForLeaseCheck(): Promise<void> {
    const end = performance.now() + 600;
    await until(() => performance.now() > end);
  }
});

describe("a fault of the store", () => {
  test.each(["unavailable", "outcomeUnknown"] as const)(
    "at the claim (%s) sends nothing, and is retried",
    async (failure) => {
      const id = await world.register("shop");
      let faults = 0;
      world.store.beforeAppend = (_, types) => {
        if (!types.includes("WebhookAttemptStarted") || faults === 2) return;
        faults += 1;
        expect(world.endpoints.receivedCalls).toHaveLength(0);
        throw new StoreError(failure, "the store is unavailable");
      };
      const instance = await world.start();
      const [delivery = ""] = await addDeliveries(id, 1);
      await world.untilEvents(delivery, ...DELIVERED);
      expect(world.endpoints.receivedCalls).toHaveLength(1);
      expect(instance.failures).toHaveLength(2);
    },
  );

  test("at a claim that was written anyway: it is released, and burns no attempt", async () => {
    const id = await world.register("shop");
    failAfterAppendOnce(world.store, "WebhookAttemptStarted");
    await world.start();
    const [delivery = ""] = await addDeliveries(id, 1);
    await world.untilEvents(delivery, ...FAILED);
    expect((await lastEvent(delivery)).data).toMatchObject({
      reason: "store_unavailable",
      attemptBurnt: false,
    });
    expect(world.endpoints.receivedCalls).toHaveLength(0);
    world.pass(LEASE_MS);
    await world.untilEvents(delivery, ...FAILED, ...DELIVERED);
    expect(world.endpoints.receivedCalls).toHaveLength(1);
  });

  test("at a claim that is written after its time was over: it is released too", async () => {
    const id = await world.register("shop");
    writeLateOnce(world.store, "WebhookAttemptStarted");
    await world.start();
    const [delivery = ""] = await addDeliveries(id, 1);
    await world.untilEvents(delivery, ...FAILED);
    expect((await lastEvent(delivery)).data).toMatchObject({ reason: "store_unavailable" });
    expect(world.endpoints.receivedCalls).toHaveLength(0);
  });

  test("at a claim that another worker has made meanwhile: that claim stays", async () => {
    const endpoint = await world.register("shop");
    const event = await world.addEvent();
    const delivery = webhookDeliveryId(event, endpoint);
    const origin = world.originOf(event, endpoint);
    const claim = { origin, attempt: 1, worker: "other", leaseMs: LEASE_MS };
    world.store.beforeAppend = async () => {
      world.store.beforeAppend = () => {};
      await world.appendForeign(delivery, { type: "WebhookAttemptStarted", data: claim });
      throw new StoreError("outcomeUnknown", "no answer");
    };
    const instance = await world.start();
    await until(() => instance.failures.length > 0, "the failure report");
    expect(await world.events(delivery)).toEqual([{ type: "WebhookAttemptStarted", data: claim }]);
    expect(world.endpoints.receivedCalls).toHaveLength(0);
  });

  test("at the outcome: retried until it is in the log, and delivered once", async () => {
    const id = await world.register("shop");
    let faults = 0;
    world.store.beforeAppend = (_, types) => {
      if (!types.includes("WebhookDelivered") || faults === 2) return;
      faults += 1;
      throw unavailable();
    };
    const instance = await world.start();
    const [delivery = ""] = await addDeliveries(id, 1);
    await world.untilEvents(delivery, ...DELIVERED);
    expect(instance.failures.map((failure) => failure.id)).toEqual([delivery, delivery]);
    expect(world.endpoints.receivedCalls).toHaveLength(1);
  });

  test("at an outcome that was written anyway: it is in the log once", async () => {
    const id = await world.register("shop");
    failAfterAppendOnce(world.store, "WebhookDelivered");
    const instance = await world.start();
    const [delivery = ""] = await addDeliveries(id, 1);
    await until(() => instance.failures.length > 0, "the failure report");
    await world.settle();
    await world.untilEvents(delivery, ...DELIVERED);
    expect(world.endpoints.receivedCalls).toHaveLength(1);
  });

  test("when an endpoint that is gone is disabled: it is disabled eventually", async () => {
    const id = await world.register("shop");
    world.endpoints.answer = () => answered(410);
    let faults = 0;
    world.store.beforeAppend = (_, types) => {
      if (!types.includes("WebhookEndpointDisabled") || faults === 2) return;
      faults += 1;
      throw unavailable();
    };
    await world.start();
    await world.addEvent();
    await until(async () => (await world.disabledReason(id)) === "gone", "the end of the delivery");
    expect(faults).toBe(2);
  });

  test("that lasts: the delivery is retried without a new event in the log", async () => {
    const id = await world.register("shop");
    const instance = await world.start();
    let isUnavailable = false;
    let reads = 0;
    world.store.afterAppend = (_, types) => {
      isUnavailable ||= types.includes("WebhookTestRequested");
    };
    world.store.beforeRead = (stream) => {
      if (!isUnavailable || !stream.startsWith("webhooks-")) return;
      reads += 1;
      throw unavailable();
    };
    const delivery = await world.test(id);
    await until(() => reads >= 3, "three checks");
    world.store.beforeRead = () => {};
    await world.untilEvents(delivery ?? "", ...DELIVERED);
    expect(instance.failures.length).toBeGreaterThanOrEqual(reads);
  });
});

describe("stopping", () => {
  test("waits for the calls in flight, records them, and starts no more", async () => {
    const slow = gate();
    const id = await world.register("shop");
    const instance = await world.start();
    // An endpoint that a call got through to gets five calls at a time.
    await world.untilEvents((await world.test(id)) ?? "", ...DELIVERED);
    world.endpoints.answer = () => slow.promise;
    const deliveries = await addDeliveries(id, 10);
    await until(() => world.endpoints.receivedCalls.length === 1 + 5, "five in flight");
    let isStopped = false;
    const stopped = instance.stop().then(() => {
      isStopped = true;
    });
    await world.settle();
    expect(isStopped).toBe(false);
    slow.resolve(answered(200));
    await stopped;
    const histories = await Promise.all(deliveries.map(world.events));
    expect(histories.filter((events) => events.at(-1)?.type === "WebhookDelivered")).toHaveLength(5);
    expect(histories.filter((events) => events.length === 0)).toHaveLength(5);
  });

  test("hangs up after its grace period, which burns no attempt", async () => {
    world.endpoints.answer = (_call, _nth, signal) => {
      const { promise, resolve } = gate();
      signal.addEventListener("abort", () =>
        resolve({ kind: "failed", reason: "interrupted", durationMs: 20 }),
      );
      return promise;
    };
    const id = await world.register("shop");
    const instance = await world.start();
    const [delivery = ""] = await addDeliveries(id, 1);
    await until(() => world.endpoints.receivedCalls.length === 1, "the call");
    await instance.stop(20);
    await world.untilEvents(delivery, ...FAILED);
    expect((await lastEvent(delivery)).data).toMatchObject({ reason: "interrupted", attemptBurnt: false });
    world.endpoints.answer = () => answered(200);
    await world.start({ worker: "w2" });
    world.pass(10 * SECOND_MS);
    await world.untilEvents(delivery, ...FAILED, ...DELIVERED);
  });

  test("abandons calls that do not end after its grace period, and leaves the claim to its lease", async () => {
    world.endpoints.answer = () => new Promise(() => {});
    const id = await world.register("shop");
    const instance = await world.start();
    const [delivery = ""] = await addDeliveries(id, 1);
    await until(() => world.endpoints.receivedCalls.length === 1, "the call");
    await instance.stop(20);
    expect(await world.events(delivery)).toHaveLength(1);
    world.endpoints.answer = () => answered(200);
    await world.start({ worker: "w2" });
    await until(async () => {
      world.pass(LEASE_MS);
      return (await lastEvent(delivery)).type === "WebhookDelivered";
    }, "the delivery after the lease");
    await world.untilEvents(delivery, ...FAILED, ...DELIVERED);
  });
});

test("a disk that is nearly full: nothing is claimed until there is room", async () => {
  world.freeBytes = 499;
  const id = await world.register("shop");
  const instance = await world.start();
  const [delivery = ""] = await addDeliveries(id, 1);
  await instance.caughtUp();
  await world.settle();
  expect(await world.events(delivery)).toEqual([]);
  world.freeBytes = 500;
  await world.untilEvents(delivery, ...DELIVERED);
});

test("a rebuild of the read model gives the same rows and calls nobody", async () => {
  const ids = [await world.register("ok"), await world.register("bad"), await world.register("left")];
  world.endpoints.answer = ({ url }) => answered(url === urlOf("bad") ? 500 : 200);
  const instance = await world.start();
  for (let index = 0; index < 4; index += 1) await world.addEvent();
  await until(() => world.endpoints.receivedCalls.length === 12, "all to be attempted");
  await world.delete(ids[2] ?? "");
  await world.test(ids[0] ?? "");
  await until(() => world.endpoints.receivedCalls.length === 13, "the test");
  const hasNoLeases = () => instance.rows().deliveries?.every((row) => row.state !== "leased") ?? false;
  await until(hasNoLeases, "the outcomes");
  await instance.caughtUp();
  const before = instance.rows();
  expect(before.deliveries).toHaveLength(13);
  expect(before.failing).toHaveLength(1);
  await instance.rebuild();
  await world.settle();
  expect(instance.rows()).toEqual(before);
  expect(world.endpoints.receivedCalls).toHaveLength(13);
  expect(instance.failures).toEqual([]);
});
