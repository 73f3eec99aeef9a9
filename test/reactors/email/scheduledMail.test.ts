import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { rescheduleEmail } from "../../../src/commands/email/rescheduleEmail.ts";
import { addSuppression } from "../../../src/commands/suppression/addOrRemoveSuppression.ts";
import { DAY_MS, HOUR_MS } from "../../../src/kernel/time.ts";
import { addressOf } from "../../support/addressOf.ts";
import { until } from "../../support/until.ts";
import { type DeliveryWorld, deliveryWorld, refused } from "./deliveryFixtures.ts";

let world: DeliveryWorld;
beforeEach(async () => {
  world = await deliveryWorld();
});
afterEach(() => world.close());

const context = () => ({ ...testContext, at: world.clock.now(), workspaceId: world.workspaceId });
const testContext = { correlationId: "test", actor: "test" };
const statusOf = async (id: string) => (await world.state(id)).status;
const move = (id: string, at: number) => rescheduleEmail(world.deps, id, at, context());

describe("a scheduled message", () => {
  test("is delivered at its time and not before, dated then, by whichever instance runs", async () => {
    const at = world.clock.now() + 20 * DAY_MS;
    const id = await world.accept("digest-1", { scheduledAt: at });
    const first = await world.start({ worker: "w1" });
    await world.settle();
    await first.stop();
    world.pass(20 * DAY_MS - 1_000);
    const second = await world.start({ worker: "w2" });
    await second.caughtUp();
    await world.settle();
    expect([await statusOf(id), world.relay.sent.length]).toEqual(["scheduled", 0]);
    world.pass(1_000);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
    expect(world.relay.sent[0]).toMatchObject({ worker: "w2", message: { date: at } });
  });

  test("that is rescheduled goes out at its new time", async () => {
    const id = await world.accept("digest-1", { scheduledAt: world.clock.now() + DAY_MS });
    const instance = await world.start();
    expect(await move(id, world.clock.now() + 2 * DAY_MS)).toBe("rescheduled");
    await instance.caughtUp();
    world.pass(DAY_MS + HOUR_MS);
    await world.settle();
    expect(await statusOf(id)).toBe("scheduled");
    expect(await move(id, world.clock.now())).toBe("rescheduled");
    await world.untilEvents(id, "EmailRescheduled", "EmailRescheduled", "EmailDeliveryStarted", "EmailSent");
    expect(await move(id, world.clock.now())).toBe("notScheduled");
  });

  test("lives for 72 hours from its scheduled time, even after it was rescheduled", async () => {
    world.relay.answer = () => refused("rcpt", "450 4.2.0 busy");
    const at = world.clock.now() + 10 * DAY_MS;
    const id = await world.accept("digest-1", { scheduledAt: world.clock.now() + DAY_MS });
    const instance = await world.start();
    await move(id, at);
    await instance.caughtUp();
    world.pass(at - world.clock.now());
    await world.settle();
    for (let hour = 0; hour < 68; hour += 4) {
      world.pass(4 * HOUR_MS);
      await world.settle();
    }
    expect(["deferred", "sending"]).toContain(await statusOf(id));
    world.pass(5 * HOUR_MS);
    await world.settle();
    expect(await statusOf(id)).toBe("failed");
  });

  test("that is rescheduled just before it expires is kept", async () => {
    world.relay.refuse = () => "connect ECONNREFUSED";
    const id = await world.accept("digest-1", { scheduledAt: world.clock.now() + HOUR_MS });
    const instance = await world.start();
    await instance.caughtUp();
    const moves: string[] = [];
    world.store.beforeAppend = async (_stream, types) => {
      if (!types.includes("EmailFailed")) return;
      world.store.beforeAppend = () => {};
      moves.push(await move(id, world.clock.now() + DAY_MS));
    };
    world.pass(4 * DAY_MS);
    await until(() => moves.length > 0, "the message to fail");
    await world.settle();
    expect([moves, await statusOf(id)]).toEqual([["rescheduled"], "scheduled"]);
  });

  test("is checked for sender, pause and suppression at its scheduled time", async () => {
    const at = world.clock.now() + DAY_MS;
    const [held, suppressed] = [
      await world.accept("digest-1", { scheduledAt: at }),
      await world.accept("digest-2", { scheduledAt: at, to: "gone@example.org" }),
    ];
    const recipient = addressOf("gone@example.org");
    await addSuppression(world.deps, { address: recipient, note: null }, context());
    await world.setSender("SenderDisabled");
    const instance = await world.start();
    await instance.caughtUp();
    world.pass(DAY_MS);
    await world.settle();
    expect(world.relay.sent).toHaveLength(0);
    await world.setSender("SenderEnabled");
    const isDone = async () =>
      (await statusOf(held)) === "sent" && (await statusOf(suppressed)) === "suppressed";
    await until(async () => {
      world.pass(1_000);
      return isDone();
    }, "both to end");
    expect(world.relay.sent.map(({ message }) => message.id)).toEqual([held]);
  });
});
