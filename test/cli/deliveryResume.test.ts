import { afterEach, beforeEach, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { resumeDeferred } from "../../src/cli/delivery/deliveryResume.ts";
import { readExceptedEmails } from "../../src/cli/delivery/exceptedEmails.ts";
import { resumedLines } from "../../src/cli/delivery/resumedReport.ts";
import { DELIVERY_POLICY } from "../../src/domain/email/delivery/deliveryPolicy.ts";
import type { EventStore } from "../../src/ports/eventStore.ts";
import { ReadDatabaseError } from "../../src/ports/readDatabase.ts";
import { openCatalog } from "../../src/readModels/generations/generationCatalog.ts";
import { openCurrentToRead } from "../../src/readModels/generations/openCurrentToRead.ts";
import { type DeliveryWorld, deliveryWorld, refused } from "../reactors/email/deliveryFixtures.ts";

let world: DeliveryWorld;
beforeEach(async () => {
  world = await deliveryWorld();
});
afterEach(() => world.close());

const EVERYTHING = { isDryRun: false, excepted: null } as const;

test("one message is counted as one", () => {
  expect(resumedLines({ ...EVERYTHING, resumed: 1, mayRepeat: 0, released: null })).toEqual([
    "1 message resumed, 0 of them may have been sent before",
  ]);
});

test("what may repeat is told by when the copy was taken, or a loss was found", () => {
  const [takenAt, at] = [Date.parse("2026-01-01T00:00:00Z"), Date.parse("2026-01-02T00:00:00Z")];
  const linesOf = (from: "backup" | "loss") => {
    const restored = { copyId: "copy", from, takenAt, sealed: false, at };
    const released = { restored, emails: 2, webhookDeliveries: 0, verificationMails: 1, mayRepeat: 3 };
    return resumedLines({ ...EVERYTHING, resumed: 0, mayRepeat: 0, released });
  };
  expect(linesOf("backup").slice(0, 2)).toEqual([
    "held since the log was restored, and resumed now: 2 messages, 0 webhook deliveries and 1 verification mail",
    "3 of them may be repeats of what was delivered after 2026-01-01T00:00:00.000Z, when the copy was taken",
  ]);
  expect(linesOf("loss").slice(0, 2)).toEqual([
    "held since the log was found to lack its newest events, and resumed now: 2 messages, 0 webhook deliveries and 1 verification mail",
    "3 of them may be repeats of what was delivered before 2026-01-02T00:00:00.000Z, when that was found",
  ]);
});

test("what a running service defers anew while mail is resumed is not resumed again", async () => {
  world.relay.answer = () => refused("rcpt", "450 4.2.0 busy");
  const id = await world.accept("order-1");
  const instance = await world.start();
  await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
  await instance.caughtUp();
  let resumed = 0;
  const idFiles = () =>
    readdirSync(instance.storage.directory).filter((name) => name.startsWith("scratch-resume-"));
  const store: EventStore = {
    ...world.store,
    async append(...call) {
      resumed += 1;
      // The ids are in a file, not in memory.
      expect(idFiles()).toHaveLength(1);
      if (resumed > 2) throw new Error("resuming does not end");
      const types = (await world.events(id)).slice(2).map(({ type }) => type);
      const result = await world.store.append(...call);
      world.pass(0);
      await world.untilEvents(id, ...types, "EmailDeferred", "EmailDeliveryStarted", "EmailDeferred");
      await instance.caughtUp();
      return result;
    },
  };
  using catalog = openCatalog(instance.storage.databases, instance.storage.directory);
  const emails = openCurrentToRead(instance.storage, catalog, "emails");
  if (emails === undefined) throw new Error("the read model exists");
  const storage = { ...instance.storage, logId: "log" };
  const open = { deps: { ...world.deps, store }, storage };
  const done = await resumeDeferred(open, emails.db, { ...EVERYTHING, release: async () => null });
  emails.db.close();
  expect(done).toEqual({ resumed: 1, mayRepeat: 0, released: null });
  expect(idFiles()).toEqual([]);
});

test("held mail stays held where there is no room for the file of deferred mail", async () => {
  const instance = await world.start();
  await instance.caughtUp();
  using catalog = openCatalog(instance.storage.databases, instance.storage.directory);
  const emails = openCurrentToRead(instance.storage, catalog, "emails");
  if (emails === undefined) throw new Error("the read model exists");
  const open = () => {
    throw new ReadDatabaseError("unavailable", "database or disk is full");
  };
  const storage = { ...instance.storage, logId: "log", databases: { ...instance.storage.databases, open } };
  let released = false;
  const release = async () => {
    released = true;
    return null;
  };
  const resumed = resumeDeferred({ deps: world.deps, storage }, emails.db, { ...EVERYTHING, release });
  await expect(resumed).rejects.toThrow("disk is full");
  emails.db.close();
  expect(released).toBe(false);
});

test("a message that waits because a relay may have it can be excepted, also without a restoration", async () => {
  world.relay.answer = () => ({ kind: "unknown", reason: "no answer" });
  const id = await world.accept("order-1");
  const instance = await world.start({ policy: { onAmbiguous: "hold" } });
  await world.untilEvents(id, "EmailDeliveryStarted", "EmailDeferred");
  await instance.caughtUp();
  using catalog = openCatalog(instance.storage.databases, instance.storage.directory);
  const emails = openCurrentToRead(instance.storage, catalog, "emails");
  if (emails === undefined) throw new Error("the read model exists");
  const file = join(instance.storage.directory, "sent.txt");
  writeFileSync(file, id);
  const open = { deps: world.deps, storage: { ...instance.storage, logId: "log" } };
  const hold = { emails: emails.db, restoredAt: null };
  const read = (onAmbiguous: "retry" | "hold") =>
    readExceptedEmails(open, hold, {
      file,
      skipsUnknown: false,
      policy: { ...DELIVERY_POLICY, onAmbiguous },
    });
  await expect(read("retry")).rejects.toThrow("line 1 names a message that is not held");
  using excepted = await read("hold");
  expect(excepted).toMatchObject({ count: 1, alreadyEnded: 0 });
  expect(await excepted.record(world.store)).toBe(1);
  expect(await excepted.record(world.store)).toBe(0);
  expect(await world.state(id)).toMatchObject({ status: "sent", reason: null });
  using again = await read("hold");
  expect(again).toMatchObject({ count: 0, alreadyEnded: 1 });
  emails.db.close();
});
