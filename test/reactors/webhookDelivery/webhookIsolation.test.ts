import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { freezeLog, unfreezeLog } from "../../../src/commands/instance/freezeLog.ts";
import { INSTANCE_STREAM } from "../../../src/domain/instance/events.ts";
import { newId, webhookDeliveryId } from "../../../src/kernel/ids.ts";
import type { WebhookOutcome } from "../../../src/kernel/outcome/webhookOutcome.ts";
import { HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/kernel/time.ts";
import { EndpointBulkhead } from "../../../src/reactors/webhookDelivery/endpointBulkhead.ts";
import { until } from "../../support/until.ts";
import { testClock } from "../email/deliveryFixtures.ts";
import { answered, type WebhookTestWorld, webhookTestWorld } from "./webhookFixtures.ts";

const DELIVERED = ["WebhookAttemptStarted", "WebhookDelivered"] as const;
const BREAKER_OPEN_MS = 30 * SECOND_MS;
const BREAKER_CALLS_MIN = 10;
const ENDPOINT_IN_FLIGHT_MAX = 5;

let world: WebhookTestWorld;
beforeEach(() => {
  world = webhookTestWorld();
});
afterEach(() => world.close());

const urlOf = (name: string) => `https://${name}.example.org/`;
const callsTo = (name: string) => world.endpoints.receivedCalls.filter(({ url }) => url === urlOf(name));

async function addEvents(count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await world.addEvent());
  return ids;
}

/** How many attempts of these deliveries the log has, and how many of them counted. */
async function countAttempts(deliveries: readonly string[]) {
  const events = (await Promise.all(deliveries.map(world.events))).flat();
  const counted = events.filter(({ type, data }) => type === "WebhookAttemptFailed" && data.attemptBurnt);
  return {
    started: events.filter(({ type }) => type === "WebhookAttemptStarted").length,
    burnt: counted.length,
    delivered: events.filter(({ type }) => type === "WebhookDelivered").length,
  };
}

describe("an endpoint that hangs", () => {
  test("delays only itself, and gets one call at a time before any got through", async () => {
    world.endpoints.answer = ({ url }) => (url === urlOf("hanging") ? new Promise(() => {}) : answered(200));
    await world.register("hanging");
    const healthy = await world.register("well");
    const events = await addEvents(60);
    await world.start();
    for (const event of events) await world.untilEvents(webhookDeliveryId(event, healthy), ...DELIVERED);
    const later = await world.addEvent();
    await world.untilEvents(webhookDeliveryId(later, healthy), ...DELIVERED);
    await world.settle();
    expect(callsTo("hanging")).toHaveLength(1);
  });

  test("delays only itself, and gets at most five calls at a time after it was healthy", async () => {
    let isHealthy = true;
    world.endpoints.answer = ({ url }) =>
      isHealthy || url !== urlOf("hanging") ? answered(200) : new Promise(() => {});
    const hanging = await world.register("hanging");
    const healthy = await world.register("well");
    await world.start();
    await world.untilEvents((await world.test(hanging)) ?? "", ...DELIVERED);
    isHealthy = false;
    const events = await addEvents(60);
    for (const event of events) await world.untilEvents(webhookDeliveryId(event, healthy), ...DELIVERED);
    await world.settle();
    expect(callsTo("hanging")).toHaveLength(1 + ENDPOINT_IN_FLIGHT_MAX);
  });

  test("gets the next call as soon as one ends", async () => {
    const open: (() => void)[] = [];
    world.endpoints.answer = () => new Promise((resolve) => open.push(() => resolve(answered(200))));
    const id = await world.register("slow");
    const events = await addEvents(23);
    await world.start();
    for (let ended = 0; ended < events.length; ended += 1) {
      await until(() => open.length > ended, "the next call");
      open[ended]?.();
    }
    for (const event of events) await world.untilEvents(webhookDeliveryId(event, id), ...DELIVERED);
    expect(world.endpoints.inFlightMost.get(urlOf("slow"))).toBe(ENDPOINT_IN_FLIGHT_MAX);
  });
});

describe("the breaker", () => {
  test("opens after ten calls of which 70% fail, burns no attempt, and lets one trial call through at a time", async () => {
    const slow = Promise.withResolvers<WebhookOutcome>();
    world.endpoints.answer = () => answered(500);
    const bad = await world.register("bad");
    const healthy = await world.register("well", ["webhook.test"]);
    const deliveries = (await addEvents(40)).map((event) => webhookDeliveryId(event, bad));
    await world.start();
    await until(() => callsTo("bad").length >= BREAKER_CALLS_MIN, "ten failures");
    await world.settle();
    const callsAtOpen = callsTo("bad").length;
    // Calls in flight when it opened still end.
    expect(callsAtOpen).toBeLessThan(BREAKER_CALLS_MIN + ENDPOINT_IN_FLIGHT_MAX);
    expect(await countAttempts(deliveries)).toEqual({
      started: callsAtOpen,
      burnt: callsAtOpen,
      delivered: 0,
    });
    world.pass(BREAKER_OPEN_MS - 1);
    await world.settle();
    expect(callsTo("bad")).toHaveLength(callsAtOpen);
    world.pass(1);
    await until(() => callsTo("bad").length > callsAtOpen, "the first trial");
    await world.settle();
    expect(callsTo("bad")).toHaveLength(callsAtOpen + 1);
    // While the second trial is in flight there is no other; other endpoints are called meanwhile.
    world.endpoints.answer = ({ url }) => (url === urlOf("bad") ? slow.promise : answered(200));
    world.pass(BREAKER_OPEN_MS);
    await until(() => callsTo("bad").length > callsAtOpen + 1, "the second trial");
    world.pass(BREAKER_OPEN_MS);
    const other = await world.test(healthy);
    await world.untilEvents(other ?? "", ...DELIVERED);
    await world.settle();
    expect(callsTo("bad")).toHaveLength(callsAtOpen + 2);
    world.endpoints.answer = () => answered(200);
    slow.resolve(answered(200));
    world.pass(5 * MINUTE_MS);
    await until(
      async () => (await countAttempts(deliveries)).delivered === deliveries.length,
      "all to be delivered",
    );
    const failures = callsAtOpen + 1;
    expect(await countAttempts(deliveries)).toEqual({
      started: deliveries.length + failures,
      burnt: failures,
      delivered: deliveries.length,
    });
  });

  test("stays closed for nine failures, and forgets calls after five minutes", () => {
    const clock = testClock();
    const bulkhead = new EndpointBulkhead(clock, ENDPOINT_IN_FLIGHT_MAX);
    const fail = (times: number) => {
      for (let index = 0; index < times; index += 1) bulkhead.beginCall("shop")(false);
    };
    fail(9);
    expect(bulkhead.admit("shop")).toEqual({ kind: "admitted" });
    clock.advance(5 * MINUTE_MS + 1);
    fail(9);
    expect(bulkhead.admit("shop")).toEqual({ kind: "admitted" });
    fail(1);
    expect(bulkhead.admit("shop")).toEqual({ kind: "open", forMs: BREAKER_OPEN_MS });
  });

  test("does not open at a call that got through, however many failed before it", () => {
    const bulkhead = new EndpointBulkhead(testClock(), ENDPOINT_IN_FLIGHT_MAX);
    for (let index = 0; index < 9; index += 1) bulkhead.beginCall("shop")(false);
    bulkhead.beginCall("shop")(true);
    expect(bulkhead.admit("shop")).toEqual({ kind: "admitted" });
    bulkhead.beginCall("shop")(false);
    expect(bulkhead.admit("shop")).toEqual({ kind: "open", forMs: BREAKER_OPEN_MS });
  });

  test("forgets earlier calls once a trial gets through", () => {
    const clock = testClock();
    const bulkhead = new EndpointBulkhead(clock, ENDPOINT_IN_FLIGHT_MAX);
    const fail = (times: number) => {
      for (let index = 0; index < times; index += 1) bulkhead.beginCall("shop")(false);
    };
    fail(10);
    clock.advance(BREAKER_OPEN_MS);
    bulkhead.beginCall("shop")(true);
    // With the trial, these are nine calls.
    fail(8);
    expect(bulkhead.admit("shop")).toEqual({ kind: "admitted" });
    fail(1);
    expect(bulkhead.admit("shop")).toEqual({ kind: "open", forMs: BREAKER_OPEN_MS });
  });

  test("stays closed while fewer than 70% fail", async () => {
    world.endpoints.answer = (_, nth) => answered(nth % 5 < 2 ? 200 : 500);
    await world.register("shaky");
    await addEvents(60);
    await world.start();
    await until(() => callsTo("shaky").length === 60, "all to be attempted");
  });
});

describe("an endpoint that no call gets through to", () => {
  /** Twelve attempts, half a day apart. */
  const HALF_DAYS = { scheduleMs: [0, ...Array<number>(11).fill(12 * HOUR_MS)] };

  /** Lets half a day pass, so many times; after each, as many calls have come as are due. */
  async function halfDays(count: number, calls: number, caughtUp: () => Promise<void>): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      await caughtUp();
      const before = world.endpoints.receivedCalls.length;
      world.pass(12 * HOUR_MS);
      await until(() => world.endpoints.receivedCalls.length === before + calls, "the calls that are due");
      await until(() => [...world.endpoints.inFlight.values()].every((now) => now === 0));
    }
  }

  /** Waits longer than the interval between two looks for failing endpoints. */
  async function untilFailingCheck(): Promise<void> {
    const end = performance.now() + 600;
    await until(() => {
      world.pass(MINUTE_MS);
      return performance.now() > end;
    });
  }

  /** An endpoint that fails every call, once so many events have had their first attempt. */
  async function failing(events: number, policy: { readonly scheduleMs: readonly number[] }) {
    world.endpoints.answer = () => answered(500);
    const id = await world.register("dead");
    await addEvents(events);
    const instance = await world.start({ policy });
    await until(() => world.endpoints.receivedCalls.length === events, "the first attempts");
    return { id, ...instance };
  }

  test("for five days, with twenty failures of two events, is disabled, and not before", async () => {
    const { id, caughtUp, disabled } = await failing(2, HALF_DAYS);
    await halfDays(9, 2, caughtUp);
    expect(world.endpoints.receivedCalls).toHaveLength(20);
    await caughtUp();
    await untilFailingCheck();
    expect(await world.disabledReason(id)).toBeNull();
    world.pass(12 * HOUR_MS);
    await until(async () => (await world.disabledReason(id)) === "failing", "it to end");
    await until(() => disabled.length > 0, "the event about it");
    expect(disabled).toEqual([{ workspaceId: expect.any(String), endpointId: id, reason: "failing" }]);
  });

  test("stays once it has moved: its old URL's failures say nothing about the new one", async () => {
    const { id, caughtUp } = await failing(2, { scheduleMs: [0, ...Array<number>(9).fill(12 * HOUR_MS)] });
    await halfDays(9, 2, caughtUp);
    await caughtUp();
    await world.update(id, { url: urlOf("moved") });
    await caughtUp();
    world.pass(12 * HOUR_MS);
    await untilFailingCheck();
    expect(await world.disabledReason(id)).toBeNull();
  });

  test("with failures of only one event stays, however many there are", async () => {
    const { id, caughtUp } = await failing(1, { scheduleMs: [0, ...Array<number>(24).fill(12 * HOUR_MS)] });
    await halfDays(23, 1, caughtUp);
    await caughtUp();
    await untilFailingCheck();
    expect(world.endpoints.receivedCalls.length).toBeGreaterThan(20);
    expect(await world.disabledReason(id)).toBeNull();
  });

  test("stays after one success in between", async () => {
    world.endpoints.answer = ({ type }) => answered(type === "webhook.test" ? 200 : 500);
    const id = await world.register("shaky");
    await addEvents(2);
    const { caughtUp } = await world.start({ policy: HALF_DAYS });
    await until(() => world.endpoints.receivedCalls.length === 2, "the first attempts");
    await halfDays(3, 2, caughtUp);
    const delivery = await world.test(id);
    await world.untilEvents(delivery ?? "", ...DELIVERED);
    await halfDays(8, 2, caughtUp);
    await caughtUp();
    await untilFailingCheck();
    expect(await world.disabledReason(id)).toBeNull();
  });

  test("stays while the log was frozen in between, when nobody could call it from here", async () => {
    const data = { logId: newId(), sealedDataKey: "x", contentStoreId: newId() };
    const created = { id: newId(), type: "InstanceCreated", data, metadata: {} };
    await world.store.append(INSTANCE_STREAM, [created], "noStream");
    const context = () => ({ at: world.clock.now(), correlationId: "t", actor: "t" });
    const { id, caughtUp, deps } = await failing(2, HALF_DAYS);
    await halfDays(5, 2, caughtUp);
    await freezeLog(world.store, context());
    await unfreezeLog(world.store, context());
    const downtimes = async () => (await deps.instanceStatus.get()).instance?.downtimes.length;
    await until(async () => (await downtimes()) === 1, "the instance to notice");
    await halfDays(6, 2, caughtUp);
    await caughtUp();
    await untilFailingCheck();
    expect(world.endpoints.receivedCalls.length).toBeGreaterThan(20);
    expect(await world.disabledReason(id)).toBeNull();
  });

  test("is left alone by an instance whose read model is behind", async () => {
    world.endpoints.answer = () => answered(500);
    const id = await world.register("dead");
    await addEvents(2);
    let checks = 0;
    const waitUntilCaughtUp = async () => {
      checks += 1;
      return false;
    };
    const { caughtUp } = await world.start({ policy: HALF_DAYS, waitUntilCaughtUp });
    await until(() => world.endpoints.receivedCalls.length === 2, "the first attempts");
    await halfDays(11, 2, caughtUp);
    const checksBefore = checks;
    await untilFailingCheck();
    expect(checks).toBeGreaterThan(checksBefore);
    expect(await world.disabledReason(id)).toBeNull();
  });

  test("does not hold up the stop of an instance whose read model is behind", async () => {
    const asked = Promise.withResolvers<void>();
    const waitUntilCaughtUp = (signal: AbortSignal) => {
      asked.resolve();
      return new Promise<boolean>((resolve) => signal.addEventListener("abort", () => resolve(false)));
    };
    const { stop } = await world.start({ waitUntilCaughtUp });
    await asked.promise;
    await stop(60_000);
  });
});

describe("slots for endpoints of unknown health", () => {
  const UNKNOWN_MAX = 300;

  test("are bounded, and an unused one goes to the next in line", () => {
    const bulkhead = new EndpointBulkhead(testClock(), ENDPOINT_IN_FLIGHT_MAX);
    const endCalls = Array.from({ length: UNKNOWN_MAX }, (_, index) =>
      bulkhead.beginCall(`hanging-${index}`),
    );
    for (const id of ["a", "b", "c"]) expect(bulkhead.admit(id)).toEqual({ kind: "full" });
    expect(endCalls[0]?.(null)).toEqual(["hanging-0", "a"]);
    // Nothing of "a" was left to deliver.
    expect(endCalls[1]?.(null)).toEqual(["hanging-1", "b", "c"]);
    expect(bulkhead.admit("b")).toEqual({ kind: "admitted" });
  });

  test("are not needed by healthy endpoints, nor taken by those known to hang", () => {
    const clock = testClock();
    const bulkhead = new EndpointBulkhead(clock, ENDPOINT_IN_FLIGHT_MAX);
    bulkhead.beginCall("well")(true);
    const endCalls = Array.from({ length: UNKNOWN_MAX }, (_, index) =>
      bulkhead.beginCall(`hanging-${index}`),
    );
    expect(bulkhead.admit("well")).toEqual({ kind: "admitted" });
    expect(bulkhead.admit("new")).toEqual({ kind: "full" });
    clock.advance(15 * SECOND_MS);
    for (const endCall of endCalls) endCall(false);
    for (let index = 0; index < UNKNOWN_MAX; index += 1) {
      expect(bulkhead.admit(`hanging-${index}`)).toEqual({ kind: "admitted" });
      bulkhead.beginCall(`hanging-${index}`);
    }
    expect(bulkhead.admit("new")).toEqual({ kind: "admitted" });
  });

  test("go to all waiting endpoints once nobody holds one", () => {
    const bulkhead = new EndpointBulkhead(testClock(), ENDPOINT_IN_FLIGHT_MAX);
    const endCalls = Array.from({ length: UNKNOWN_MAX }, (_, index) =>
      bulkhead.beginCall(`hanging-${index}`),
    );
    for (let index = 0; index < UNKNOWN_MAX + 2; index += 1) bulkhead.admit(`waiting-${index}`);
    const released = endCalls.flatMap((endCall) => endCall(null)).filter((id) => id.startsWith("waiting"));
    expect(new Set(released).size).toBe(UNKNOWN_MAX + 2);
  });
});
