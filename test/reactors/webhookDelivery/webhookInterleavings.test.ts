import { expect, test } from "bun:test";
import fc from "fast-check";
import type { WebhookDeliveryEvent } from "../../../src/domain/webhookDelivery/events.ts";
import { webhookDeliveryId } from "../../../src/kernel/ids.ts";
import { HOUR_MS } from "../../../src/kernel/time.ts";
import { until } from "../../support/until.ts";
import { answered, type ReceivedCall, type WebhookTestWorld, webhookTestWorld } from "./webhookFixtures.ts";

const RUNS = { numRuns: 15 };
const TEST_MS_MAX = 60_000;
const ENDPOINTS = 4;
/** Subscriptions to events that happen here, and to others that do not. */
const SUBSCRIPTIONS = [["suppression.created"], ["email.sent"]] as const;

interface Endpoint {
  readonly id: string;
  readonly isSubscribed: boolean;
  isActive: boolean;
}

/** The deliveries that the rule expects: their ids, and the endpoint of each. */
interface Expected {
  readonly endpoints: Map<number, Endpoint>;
  readonly deliveries: Map<string, string>;
  /** Endpoints that were disabled or deleted at some time. */
  readonly lost: Set<string>;
}

const step = fc.record({
  verb: fc.constantFrom(
    "happen",
    "happen",
    "happen",
    "register",
    "disable",
    "enable",
    "delete",
    "test",
    "pass",
  ),
  endpoint: fc.nat(ENDPOINTS - 1),
  types: fc.constantFrom(...SUBSCRIPTIONS),
});
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

async function addEvent(world: WebhookTestWorld, { endpoints, deliveries }: Expected): Promise<void> {
  const event = await world.addEvent();
  for (const { id, isSubscribed, isActive } of endpoints.values()) {
    if (isSubscribed && isActive) deliveries.set(webhookDeliveryId(event, id), id);
  }
}

async function register(world: WebhookTestWorld, { endpoint, types }: Step, { endpoints }: Expected) {
  if (endpoints.has(endpoint)) return;
  const id = await world.register(`endpoint-${endpoint}`, types);
  endpoints.set(endpoint, {
    id,
    isSubscribed: types.some((type) => type === "suppression.created"),
    isActive: true,
  });
}

async function change(world: WebhookTestWorld, { verb, endpoint: index }: Step, expected: Expected) {
  const endpoint = expected.endpoints.get(index);
  if (endpoint === undefined) return;
  if (verb === "test") {
    const delivery = await world.test(endpoint.id);
    if (delivery) expected.deliveries.set(delivery, endpoint.id);
    return;
  }
  await world[verb as "disable" | "enable" | "delete"](endpoint.id);
  if (verb === "delete") expected.endpoints.delete(index);
  endpoint.isActive = verb === "enable";
  if (verb !== "enable") expected.lost.add(endpoint.id);
}

async function applyStep(world: WebhookTestWorld, step: Step, expected: Expected): Promise<void> {
  if (step.verb === "pass") world.pass(HOUR_MS);
  else if (step.verb === "happen") await addEvent(world, expected);
  else if (step.verb === "register") await register(world, step, expected);
  else await change(world, step, expected);
}

const hasEnded = (events: readonly WebhookDeliveryEvent[]) =>
  ["WebhookDelivered", "WebhookDeliverySkipped", "WebhookDeliveryExhausted"].includes(
    events.at(-1)?.type ?? "",
  );

async function storiesOf(world: WebhookTestWorld, { deliveries }: Expected) {
  const ids = [...deliveries.keys()];
  return new Map(await Promise.all(ids.map(async (id) => [id, await world.events(id)] as const)));
}

/** Every third first call fails. */
const failsAtFirst = ({ id }: ReceivedCall, receivedCalls: readonly ReceivedCall[]) =>
  id.charCodeAt(0) % 3 === 0 && receivedCalls.filter((other) => other.id === id).length === 1;

test(
  "each expected delivery is made once, and no other, whatever happens to endpoints meanwhile (property)",
  async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
        const world = webhookTestWorld();
        const { receivedCalls } = world.endpoints;
        world.endpoints.answer = (call) => answered(failsAtFirst(call, receivedCalls) ? 500 : 200);
        const expected: Expected = { endpoints: new Map(), deliveries: new Map(), lost: new Set() };
        await Promise.all([world.start({ worker: "w1" }), world.start({ worker: "w2" })]);
        for (const one of steps) await applyStep(world, one, expected);
        const allEnded = async () => {
          world.pass(HOUR_MS);
          return [...(await storiesOf(world, expected)).values()].every(hasEnded);
        };
        await until(allEnded, "the end of all deliveries");
        await world.settle();
        for (const [id, events] of await storiesOf(world, expected)) {
          const calls = receivedCalls.filter((one) => one.id === id).length;
          expect(events.filter(({ type }) => type === "WebhookAttemptStarted")).toHaveLength(calls);
          const last = events.at(-1)?.type;
          if (last === "WebhookDeliverySkipped")
            expect(expected.lost).toContain(expected.deliveries.get(id) ?? "");
          else expect(calls).toBe(events.some(({ type }) => type === "WebhookAttemptFailed") ? 2 : 1);
        }
        for (const { id } of receivedCalls) expect([...expected.deliveries.keys()]).toContain(id);
        await world.close();
      }),
      RUNS,
    );
  },
  TEST_MS_MAX,
);
