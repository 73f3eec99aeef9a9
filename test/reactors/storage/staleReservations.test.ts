import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { storageReservations } from "../../../projections/storageReservations.ts";
import { directFilesOwner } from "../../../src/commands/storage/storageReservationQueue.ts";
import { toNewEvents } from "../../../src/commands/transact.ts";
import { storageStream } from "../../../src/domain/storage/events.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { mailOwnerId } from "../../../src/kernel/liveOrTestOwner.ts";
import { MINUTE_MS } from "../../../src/kernel/time.ts";
import { StoreError } from "../../../src/ports/eventStore.ts";
import { staleReservations } from "../../../src/reactors/storage/staleReservations.ts";
import type { PeriodicWorker } from "../../../src/reactors/worker/periodicWorker.ts";
import { follow, newStorage, rowsOf } from "../../readModels/followFixtures.ts";
import { until } from "../../support/until.ts";
import { type DeliveryWorld, deliveryWorld } from "../email/deliveryFixtures.ts";

/** How long a reservation is left alone. */
const HOLD_MS = 15 * MINUTE_MS;

let world: DeliveryWorld;
let storage: ReturnType<typeof newStorage>;
let following: ReturnType<typeof follow>;
let reaper: PeriodicWorker;
let failures: unknown[];

beforeEach(async () => {
  world = await deliveryWorld();
  storage = newStorage();
  failures = [];
  following = follow(storage, world.store, [storageReservations]);
  await following.caughtUp();
  reaper = staleReservations({
    deps: world.deps,
    reservations: following.readers.reader("storage-reservations"),
    worker: "reaper",
    intervalMs: 1,
    onTrouble: (error) => failures.push(error),
  });
  reaper.start();
});
afterEach(async () => {
  await reaper.stop();
  await following.stop();
  storage.remove();
  await world.close();
});

function reserve(holder: string, bytes: number) {
  const context = { at: world.clock.now(), correlationId: "test", actor: "test" };
  return world.deps.storage.reserve(world.workspaceId, holder, bytes, context);
}

const used = () => world.deps.storage.used(world.workspaceId);

describe("an overdue reservation", () => {
  test("is released when its holder never came into being, and kept when it did", async () => {
    const id = await world.accept("accepted");
    const { contentEventId } = await world.state(id);
    const upload = `attachment-${newId()}`;
    await reserve(directFilesOwner(id, contentEventId), 1);
    await reserve(upload, 10);
    // A request that lost the race for this very message, one for a message that never was, and a lost upload.
    await reserve(directFilesOwner(id, newId()), 100);
    await reserve(directFilesOwner(newId(), newId()), 1_000);
    await reserve(`attachment-${newId()}`, 10_000);
    const context = { at: world.clock.now(), correlationId: "test", actor: "test" };
    await world.store.append(
      upload,
      toNewEvents([{ type: "AttachmentUploaded", data: {} }], context),
      "noStream",
    );
    world.clock.advance(HOLD_MS);
    await until(async () => (await used()) === 11, "the reservations without a message to be released");

    const allConfirmed = () =>
      rowsOf(storage, storageReservations).storage_reservations?.every(({ until: time }) => time === null) ??
      false;
    await until(allConfirmed, "the other reservations to be confirmed");
    expect(rowsOf(storage, storageReservations).storage_reservations).toMatchObject([
      { bytes: 10 },
      { bytes: 1 },
    ]);
    expect(failures).toEqual([]);
  });

  test("of test mail is settled in the ledger of test mail", async () => {
    const id = await world.accept("accepted");
    const { contentEventId } = await world.state(id);
    const testOwnerId = mailOwnerId({ workspaceId: world.workspaceId, isTest: true });
    const { storage: quota } = world.deps;
    const context = { at: world.clock.now(), correlationId: "test", actor: "test" };
    await reserve("attachment-live", 1);
    await quota.reserve(testOwnerId, directFilesOwner(id, contentEventId), 10, context);
    await quota.reserve(testOwnerId, directFilesOwner(newId(), newId()), 100, context);
    world.clock.advance(HOLD_MS);
    await until(async () => (await used()) === 0, "the live reservation to be released");
    await until(async () => (await quota.used(testOwnerId)) === 10, "the lost reservation to be released");
    const events = await world.store.read(storageStream(testOwnerId), 0, 10);
    expect(events.map(({ metadata }) => metadata.workspaceId)).toEqual(events.map(() => world.workspaceId));
    expect(failures).toEqual([]);
  });

  test("is not checked before it is overdue", async () => {
    await reserve("attachment-early", 1);
    world.clock.advance(MINUTE_MS);
    await reserve("attachment-late", 10);
    world.clock.advance(HOLD_MS - MINUTE_MS);
    await until(async () => (await used()) < 11, "the first reservation to be released");
    expect(await used()).toBe(10);
    world.clock.advance(MINUTE_MS);
    await until(async () => (await used()) === 0, "the second reservation to be released");
  });

  test("waits while the store is unavailable", async () => {
    await reserve("attachment-lost", 1);
    await following.caughtUp();
    world.store.beforeAppend = () => {
      throw new StoreError("unavailable", "the store is unavailable");
    };
    world.clock.advance(HOLD_MS);
    await until(() => failures.length > 0, "a failed round");
    expect(await used()).toBe(1);
    world.store.beforeAppend = () => {};
    await until(async () => (await used()) === 0, "the reservation to be released");
  });
});
