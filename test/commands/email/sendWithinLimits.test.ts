import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { StoreError, type StoreFailure } from "../../../src/ports/eventStore.ts";
import { type DeliveryWorld, deliveryWorld } from "../../reactors/email/deliveryFixtures.ts";

let world: DeliveryWorld;
beforeEach(async () => {
  world = await deliveryWorld();
});
afterEach(() => world.close());

const used = () => world.deps.quota.used(world.workspaceId, world.clock.now());

/** Sends while appends to messages' streams fail. */
async function sendWhileFailing(failure: StoreFailure): Promise<void> {
  world.store.beforeAppend = (stream) => {
    if (stream.startsWith("email-")) throw new StoreError(failure, "the store failed");
  };
  await expect(world.accept("in trouble")).rejects.toThrow(StoreError);
  world.store.beforeAppend = () => {};
}

describe("a send takes one of the day's messages", () => {
  test("when it is accepted, and none when it is sent again", async () => {
    await world.accept("one");
    await world.accept("one");
    await world.accept("two");
    expect(await used()).toBe(2);
  });

  test("and returns it when the store has not written the message", async () => {
    await sendWhileFailing("unavailable");
    expect(await used()).toBe(0);
  });

  test("and keeps it when nobody knows whether the message was written", async () => {
    await sendWhileFailing("outcomeUnknown");
    expect(await used()).toBe(1);
  });
});
