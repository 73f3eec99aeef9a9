import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { webhookDeliveryId } from "../../../src/kernel/ids.ts";
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
const toldTo = (name: string) => world.endpoints.told.filter(({ url }) => url === urlOf(name));

async function happen(count: number): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await world.happen());
  return ids;
}

/** How many attempts of these deliveries the log has, and how many of them counted. */
async function attemptsOf(deliveries: readonly string[]) {
  const events = (await Promise.all(deliveries.map(world.events))).flat();
  const burnt = events.filter(({ type, data }) => type === "WebhookAttemptFailed" && data.attemptBurnt);
  return {
    started: events.filter(({ type }) => type === "WebhookAttemptStarted").length,
    burnt: burnt.length,
    delivered: events.filter(({ type }) => type === "WebhookDelivered").length,
  };
}

describe("an endpoint that hangs", () => {
  test("delays only itself, and gets one call at a time before any got through", async () => {
    world.endpoints.answer = ({ url }) => (url === urlOf("hanging") ? new Promise(() => {}) : answered(200));
    await world.register("hanging");
    const well = await world.register("well");
    const events = await happen(60);
    await world.start();
    for (const event of events) await world.untilEvents(webhookDeliveryId(event, well), ...DELIVERED);
    const later = await world.happen();
    await world.untilEvents(webhookDeliveryId(later, well), ...DELIVERED);
    await world.settle();
    expect(toldTo("hanging")).toHaveLength(1);
  });

  test("delays only itself, and gets at most five calls at a time after it was healthy", async () => {
    let isWell = true;
    world.endpoints.answer = ({ url }) =>
      isWell || url !== urlOf("hanging") ? answered(200) : new Promise(() => {});
    const hanging = await world.register("hanging");
    const well = await world.register("well");
    await world.start();
    await world.untilEvents((await world.test(hanging)) ?? "", ...DELIVERED);
    isWell = false;
    const events = await happen(60);
    for (const event of events) await world.untilEvents(webhookDeliveryId(event, well), ...DELIVERED);
    await world.settle();
    expect(toldTo("hanging")).toHaveLength(1 + ENDPOINT_IN_FLIGHT_MAX);
  });

  test("gets the next call as soon as one ends", async () => {
    const open: (() => void)[] = [];
    world.endpoints.answer = () => new Promise((resolve) => open.push(() => resolve(answered(200))));
    const id = await world.register("slow");
    const events = await happen(23);
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
    const well = await world.register("well", ["webhook.test"]);
    const deliveries = (await happen(40)).map((event) => webhookDeliveryId(event, bad));
    await world.start();
    await until(() => toldTo("bad").length >= BREAKER_CALLS_MIN, "ten failures");
    await world.settle();
    const whenOpen = toldTo("bad").length;
    // Calls in flight when it opened still end.
    expect(whenOpen).toBeLessThan(BREAKER_CALLS_MIN + ENDPOINT_IN_FLIGHT_MAX);
    expect(await attemptsOf(deliveries)).toEqual({ started: whenOpen, burnt: whenOpen, delivered: 0 });
    world.pass(BREAKER_OPEN_MS - 1);
    await world.settle();
    expect(toldTo("bad")).toHaveLength(whenOpen);
    world.pass(1);
    await until(() => toldTo("bad").length > whenOpen, "the first trial");
    await world.settle();
    expect(toldTo("bad")).toHaveLength(whenOpen + 1);
    // While the second trial is in flight there is no other; other endpoints are called meanwhile.
    world.endpoints.answer = ({ url }) => (url === urlOf("bad") ? slow.promise : answered(200));
    world.pass(BREAKER_OPEN_MS);
    await until(() => toldTo("bad").length > whenOpen + 1, "the second trial");
    world.pass(BREAKER_OPEN_MS);
    const other = await world.test(well);
    await world.untilEvents(other ?? "", ...DELIVERED);
    await world.settle();
    expect(toldTo("bad")).toHaveLength(whenOpen + 2);
    world.endpoints.answer = () => answered(200);
    slow.resolve(answered(200));
    world.pass(5 * MINUTE_MS);
    await until(
      async () => (await attemptsOf(deliveries)).delivered === deliveries.length,
      "all to be delivered",
    );
    const failures = whenOpen + 1;
    expect(await attemptsOf(deliveries)).toEqual({
      started: deliveries.length + failures,
      burnt: failures,
      delivered: deliveries.length,
    });
  });

  test("stays closed for nine failures, and forgets calls after five minutes", () => {
    const clock = testClock();
    const bulkhead = new EndpointBulkhead(clock);
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
    const bulkhead = new EndpointBulkhead(testClock());
    for (let index = 0; index < 9; index += 1) bulkhead.beginCall("shop")(false);
    bulkhead.beginCall("shop")(true);
    expect(bulkhead.admit("shop")).toEqual({ kind: "admitted" });
    bulkhead.beginCall("shop")(false);
    expect(bulkhead.admit("shop")).toEqual({ kind: "open", forMs: BREAKER_OPEN_MS });
  });

  test("stays closed while fewer than 70% fail", async () => {
    world.endpoints.answer = (_, nth) => answered(nth % 5 < 2 ? 200 : 500);
    await world.register("shaky");
    await happen(60);
    await world.start();
    await until(() => toldTo("shaky").length === 60, "all to be attempted");
  });
});

describe("an endpoint that no call gets through to", () => {
  /** Twelve attempts, half a day apart. */
  const HALF_DAYS = { scheduleMs: [0, ...Array<number>(11).fill(12 * HOUR_MS)] };

  /** Lets half a day pass, so many times; after each, as many calls have come as are due. */
  async function halfDays(count: number, calls: number, caughtUp: () => Promise<void>): Promise<void> {
    for (let index = 0; index < count; index += 1) {
      await caughtUp();
      const before = world.endpoints.told.length;
      world.pass(12 * HOUR_MS);
      await until(() => world.endpoints.told.length === before + calls, "the calls that are due");
      await until(() => [...world.endpoints.inFlight.values()].every((now) => now === 0));
    }
  }

  /** Longer than the interval between two housekeeping runs. */
  async function housekeeping(): Promise<void> {
    const end = performance.now() + 600;
    await until(() => {
      world.pass(MINUTE_MS);
      return performance.now() > end;
    });
  }

  test("for five days, with twenty failures of two events, is disabled, and not before", async () => {
    world.endpoints.answer = () => answered(500);
    const id = await world.register("dead");
    await happen(2);
    const { caughtUp, disabled } = await world.start({ policy: HALF_DAYS });
    await until(() => world.endpoints.told.length === 2, "the first attempts");
    await halfDays(9, 2, caughtUp);
    expect(world.endpoints.told).toHaveLength(20);
    await caughtUp();
    await housekeeping();
    expect(await world.disabledReason(id)).toBeNull();
    world.pass(12 * HOUR_MS);
    await until(async () => (await world.disabledReason(id)) === "failing", "it to end");
    await until(() => disabled.length > 0, "the event about it");
    expect(disabled).toEqual([{ workspaceId: expect.any(String), endpointId: id, reason: "failing" }]);
  });

  test("with failures of only one event stays, however many there are", async () => {
    world.endpoints.answer = () => answered(500);
    const id = await world.register("dead");
    await happen(1);
    const { caughtUp } = await world.start({
      policy: { scheduleMs: [0, ...Array<number>(24).fill(12 * HOUR_MS)] },
    });
    await until(() => world.endpoints.told.length === 1, "the first attempt");
    await halfDays(23, 1, caughtUp);
    await caughtUp();
    await housekeeping();
    expect(world.endpoints.told.length).toBeGreaterThan(20);
    expect(await world.disabledReason(id)).toBeNull();
  });

  test("stays after one success in between", async () => {
    world.endpoints.answer = ({ type }) => answered(type === "webhook.test" ? 200 : 500);
    const id = await world.register("shaky");
    await happen(2);
    const { caughtUp } = await world.start({ policy: HALF_DAYS });
    await until(() => world.endpoints.told.length === 2, "the first attempts");
    await halfDays(3, 2, caughtUp);
    const delivery = await world.test(id);
    await world.untilEvents(delivery ?? "", ...DELIVERED);
    await halfDays(8, 2, caughtUp);
    await caughtUp();
    await housekeeping();
    expect(await world.disabledReason(id)).toBeNull();
  });

  test("is left alone by an instance whose read model is behind", async () => {
    world.endpoints.answer = () => answered(500);
    const id = await world.register("dead");
    await happen(2);
    let asked = 0;
    const waitUntilCaughtUp = async () => {
      asked += 1;
      return false;
    };
    const { caughtUp } = await world.start({ policy: HALF_DAYS, waitUntilCaughtUp });
    await until(() => world.endpoints.told.length === 2, "the first attempts");
    await halfDays(11, 2, caughtUp);
    const askedBefore = asked;
    await housekeeping();
    expect(asked).toBeGreaterThan(askedBefore);
    expect(await world.disabledReason(id)).toBeNull();
  });
});

describe("slots for endpoints of unknown health", () => {
  const UNKNOWN_MAX = 300;

  test("are bounded, and an unused one goes to the next in line", () => {
    const bulkhead = new EndpointBulkhead(testClock());
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
    const bulkhead = new EndpointBulkhead(clock);
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
    const bulkhead = new EndpointBulkhead(testClock());
    const endCalls = Array.from({ length: UNKNOWN_MAX }, (_, index) =>
      bulkhead.beginCall(`hanging-${index}`),
    );
    for (let index = 0; index < UNKNOWN_MAX + 2; index += 1) bulkhead.admit(`waiting-${index}`);
    const told = endCalls.flatMap((endCall) => endCall(null)).filter((id) => id.startsWith("waiting"));
    expect(new Set(told).size).toBe(UNKNOWN_MAX + 2);
  });
});
