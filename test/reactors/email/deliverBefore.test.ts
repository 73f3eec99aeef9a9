import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { MailOutcome } from "../../../src/kernel/outcome/mailOutcome.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from "../../../src/kernel/time.ts";
import { SETTLING_MS } from "../../../src/reactors/worker/jumpProofTime.ts";
import { until } from "../../support/until.ts";
import { ACCEPTED, type DeliveryWorld, deliveryWorld, refused } from "./deliveryFixtures.ts";

let world: DeliveryWorld;
beforeEach(async () => {
  world = await deliveryWorld();
});
afterEach(() => world.close());

const DEADLINE_MS = 10 * MINUTE_MS;
const code = () => world.accept("code-1", { deliverBefore: world.clock.now() + DEADLINE_MS });
const expired = async (id: string) => (await world.state(id)).reason === "expired";

describe("a message with a deadline", () => {
  test("whose relay is down fails then, and not before", async () => {
    world.relay.refuse = () => "connect ECONNREFUSED";
    const id = await code();
    await world.start();
    world.pass(DEADLINE_MS - 1);
    await world.settle();
    expect(await world.events(id)).toHaveLength(2);
    world.pass(1);
    await world.untilEvents(id, "EmailFailed");
    world.relay.refuse = () => null;
    world.pass(MINUTE_MS);
    await world.settle();
    expect(world.relay.sent).toHaveLength(0);
  });

  test("fails then while its workspace is paused, whose other mail waits on", async () => {
    const [id, other] = [await code(), await world.accept("news-1")];
    await world.pause();
    await world.start();
    world.pass(DEADLINE_MS);
    await world.untilEvents(id, "EmailFailed");
    expect((await world.state(other)).status).toBe("queued");
  });

  test("fails then while its sender is disabled", async () => {
    const id = await code();
    await world.setSender("SenderDisabled");
    await world.start();
    world.pass(DEADLINE_MS);
    await world.untilEvents(id, "EmailFailed");
  });

  test("fails then instead of a retry that would come later", async () => {
    world.relay.answer = () => refused("rcpt", "450 4.2.0 busy");
    const id = await code();
    await world.start();
    const attempt = ["EmailDeliveryStarted", "EmailDeferred"] as const;
    for (const passedMs of [0, 2 * MINUTE_MS, 3 * MINUTE_MS]) {
      world.pass(passedMs);
      await world.settle();
    }
    await world.untilEvents(id, ...attempt, ...attempt, ...attempt);
    expect((await world.state(id)).nextAttemptAt - world.clock.now()).toBeLessThan(5 * MINUTE_MS + 1);
    world.pass(5 * MINUTE_MS);
    await world.untilEvents(id, ...attempt, ...attempt, ...attempt, "EmailFailed");
  });

  test("that passed while no instance ran fails when one starts", async () => {
    const id = await code();
    world.pass(DEADLINE_MS);
    await world.start({ worker: "w2" });
    await world.untilEvents(id, "EmailFailed");
    expect(world.relay.sent).toHaveLength(0);
  });

  test("whose attempt is under way then ends as that does", async () => {
    const answer = Promise.withResolvers<MailOutcome>();
    world.relay.answer = () => answer.promise;
    const id = await code();
    await world.start();
    await until(() => world.relay.sent.length === 1, "the attempt");
    world.pass(DEADLINE_MS + SECOND_MS);
    await world.settle();
    expect((await world.state(id)).status).toBe("sending");
    answer.resolve(ACCEPTED);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
  });

  test("is not claimed if it comes while a session with the relay is opened", async () => {
    const id = await code();
    world.store.beforeAppend = (_stream, types) => {
      if (types.includes("EmailDeliveryStarted")) throw new Error("it was claimed");
    };
    world.clock.advance(DEADLINE_MS - 1);
    world.relay.refuse = () => {
      world.clock.advance(1);
      return null;
    };
    const instance = await world.start();
    await until(() => expired(id), "the message to fail");
    expect(instance.failures).toEqual([]);
  });

  test("waits while a clock that has jumped past it is not believed, and goes when it is set back", async () => {
    world.relay.refuse = () => "connect ECONNREFUSED";
    const id = await code();
    await world.start();
    await world.settle();
    world.clock.setBack(-DAY_MS);
    world.relay.refuse = () => null;
    for (const passedMs of [0, SECOND_MS, MINUTE_MS]) {
      world.pass(passedMs);
      await world.settle();
    }
    expect(await world.events(id)).toHaveLength(2);
    // It is looked at now and then, not all the time.
    expect(world.relay.sessions).toBeLessThan(20);
    world.clock.setBack(DAY_MS);
    world.pass(2 * SECOND_MS);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
  });

  test("fails once such a clock is believed", async () => {
    world.relay.refuse = () => "connect ECONNREFUSED";
    const id = await code();
    await world.start();
    await world.settle();
    world.clock.setBack(-HOUR_MS);
    world.pass(MINUTE_MS);
    await world.settle();
    expect(await world.events(id)).toHaveLength(2);
    world.pass(SETTLING_MS);
    await world.untilEvents(id, "EmailFailed");
  });

  test("of many fails although one of them cannot be read", async () => {
    world.relay.refuse = () => "connect ECONNREFUSED";
    const deadline = world.clock.now() + DEADLINE_MS;
    const ids: string[] = [];
    for (let n = 0; n < 250; n += 1)
      ids.push(await world.accept(`code-${n}`, { deliverBefore: deadline - 250 + n }));
    const instance = await world.start();
    world.store.beforeRead = (stream) => {
      if (stream === `email-${ids[0]}`) throw new Error("unreadable");
    };
    world.pass(DEADLINE_MS);
    await until(async () => {
      world.pass(SECOND_MS);
      const ended = await Promise.all(ids.slice(1).map(expired));
      return ended.every(Boolean);
    }, "all others to fail");
    expect(instance.failures.map(({ id }) => id)).toContain(ids[0] ?? "");
    world.store.beforeRead = () => {};
  });
});
