import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readEmail } from "../../../src/commands/email/readEmail.ts";
import { HOUR_MS, SECOND_MS } from "../../../src/kernel/time.ts";
import { contentStoreError, DamagedContentError } from "../../../src/ports/contentStore.ts";
import { until } from "../../support/until.ts";
import { appendForeign, type DeliveryWorld, deliveryWorld } from "./deliveryFixtures.ts";

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

  test("is not what ends a message: that is a file that the store does not have, and it is told", async () => {
    const id = await world.accept("order-1001", { file: "Thank you" });
    await world.content.removeOwner({ workspaceId: world.workspaceId, ownerId: id });
    const instance = await world.start();
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailFailed");
    expect((await world.events(id)).at(-1)?.data).toMatchObject({ reason: "content_unavailable" });
    await until(() => instance.contentLost.length > 0, "the report");
    expect(instance.contentLost).toEqual([id]);
  });

  test("that sends meet when they put files there holds up no delivery: reading may work", async () => {
    const id = await world.accept("order-1001", { file: "Thank you" });
    world.content.put = async () => {
      throw contentStoreError(new Error("no room"));
    };
    const { contentHealth } = await world.start();
    const folder = { workspaceId: world.workspaceId, ownerId: id, folderId: id };
    for (let refused = 0; refused < 10; refused += 1)
      await contentHealth.observed.put(folder, Buffer.from("a")).catch(() => {});
    expect(contentHealth.writes.trouble).toEqual({ reason: "no room" });
    await world.untilEvents(id, "EmailDeliveryStarted", "EmailSent");
    expect(contentHealth.reads.trouble).toBeNull();
    expect(contentHealth.writes.trouble).toEqual({ reason: "no room" });
  });

  describe("that lasts", () => {
    const waiting = async (ids: readonly string[]) => {
      const states = await Promise.all(ids.map(world.state));
      return ids.filter((_, index) => states[index]?.status === "queued");
    };
    const acceptWithFiles = (count: number) =>
      Promise.all(Array.from({ length: count }, (_, n) => world.accept(`file-${n}`, { file: `note ${n}` })));

    test("adds nothing to the log of the messages that wait for it, and ends when one file can be read", async () => {
      world.content.beforeGet = () => {
        throw contentStoreError(new Error("403"));
      };
      const ids = await acceptWithFiles(20);
      const instance = await world.start({ sessionsMax: 2 });
      await until(() => instance.contentHealth.reads.trouble !== null, "the fault to be known");
      await world.settle();
      const gets = world.content.gets;
      expect(await waiting(ids)).toHaveLength(20 - gets);
      expect(gets).toBeLessThanOrEqual(5 + 1);
      await until(() => {
        world.pass(SECOND_MS);
        return world.content.gets > gets;
      }, "the next try");
      await world.settle();
      expect(await waiting(ids)).toHaveLength(20 - world.content.gets);
      world.content.beforeGet = () => {};
      await until(() => {
        world.pass(30 * SECOND_MS);
        return world.relay.sent.length === ids.length;
      }, "all to be sent");
      expect(instance.contentHealth.reads.trouble).toBeNull();
      expect(instance.contentReports.map(({ kind }) => kind)).toEqual(["began", "ended"]);
    });

    test("holds up no message that needs nothing from it, even if it hangs", async () => {
      world.content.beforeGet = () => {
        throw contentStoreError(new Error("timeout"));
      };
      const ids = await acceptWithFiles(20);
      const instance = await world.start({ sessionsMax: 2 });
      await until(() => instance.contentHealth.reads.trouble !== null, "the fault to be known");
      await world.settle();
      const hung = Promise.withResolvers<void>();
      world.content.beforeGet = () => hung.promise;
      await until(() => {
        world.pass(SECOND_MS);
        return instance.delivery.inFlightCount === 1;
      }, "the probe to hang");
      const gets = world.content.gets;
      for (let index = 0; index < 10; index += 1) await world.accept(`plain-${index}`);
      await until(() => {
        world.pass(SECOND_MS);
        return world.relay.sent.length === 10;
      }, "the messages without files");
      expect(world.content.gets).toBe(gets);
      hung.resolve();
      await until(() => {
        world.pass(30 * SECOND_MS);
        return world.relay.sent.length === 10 + ids.length;
      }, "those with files");
    });

    test("says so in what a message waits for", async () => {
      world.content.beforeGet = () => {
        throw contentStoreError(new Error("403"));
      };
      const ids = await acceptWithFiles(10);
      const plain = await world.accept("plain", { scheduledAt: world.clock.now() + HOUR_MS });
      const instance = await world.start();
      await until(() => instance.contentHealth.reads.trouble !== null, "the fault to be known");
      await world.settle();
      const waitingOf = async (id = "") => {
        const view = await readEmail(world.deps, { workspaceId: world.workspaceId, isTest: false }, id);
        return view && (await instance.delivery.readWaitingReason(true)(view))?.reason;
      };
      expect(await waitingOf((await waiting(ids))[0])).toBe("content_store_unavailable");
      expect(await waitingOf(plain)).toBe("scheduled");
    });

    test("is known to be over when no message waits for it any more", async () => {
      await world.content.claim("log");
      world.content.beforeGet = () => {
        throw contentStoreError(new Error("403"));
      };
      const ids = await acceptWithFiles(6);
      const instance = await world.start();
      await until(() => instance.contentHealth.reads.trouble !== null, "the fault to be known");
      await world.settle();
      for (const id of ids) await appendForeign(world, id, { type: "EmailCanceled", data: {} });
      await instance.caughtUp();
      await until(() => {
        world.pass(SECOND_MS);
        return instance.contentHealth.reads.trouble === null;
      }, "a look at the store");
    });
  });
});
