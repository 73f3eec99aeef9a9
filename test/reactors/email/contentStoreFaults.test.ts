import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { SECOND_MS } from "../../../src/kernel/time.ts";
import { contentStoreError, DamagedContentError } from "../../../src/ports/contentStore.ts";
import { type DeliveryWorld, deliveryWorld } from "./deliveryFixtures.ts";

let world: DeliveryWorld;
beforeEach(async () => {
  world = await deliveryWorld();
});
afterEach(() => world.close());

describe("a fault of the content store", () => {
  test.each([
    ["that does not answer", contentStoreError(new Error("403")), "cannot be used"],
    ["whose file is damaged", new DamagedContentError("00ff"), "content 00ff is damaged"],
  ])("%s puts the message off under a reason of its own, and is told apart", async (_, fault, text) => {
    world.content.beforeGet = () => {
      throw fault;
    };
    const id = await world.accept("order-1001", { file: "Thank you" });
    const instance = await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
    expect((await world.events(id)).at(-1)?.data).toMatchObject({
      reason: "content_store_unavailable",
      attemptBurnt: false,
      ambiguous: false,
    });
    expect(String(instance.failures[0]?.error)).toContain(text);
    expect(world.relay.sent).toHaveLength(0);
    world.content.beforeGet = () => {};
    await instance.caughtUp();
    world.pass(30 * SECOND_MS);
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred", "EmailDeliveryStarted", "EmailSent");
    expect(world.relay.sent[0]?.message.attachments).toHaveLength(1);
  });
});
