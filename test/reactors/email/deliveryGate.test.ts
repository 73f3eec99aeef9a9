import { expect, test } from "bun:test";
import { instanceAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { freezeLog, unfreezeLog } from "../../../src/commands/instance/freezeLog.ts";
import { instanceStatusCache } from "../../../src/commands/instance/instanceStatusCache.ts";
import { resumeDelivery } from "../../../src/commands/instance/resumeDelivery.ts";
import { transact } from "../../../src/commands/transact.ts";
import { restoreInstance } from "../../../src/domain/instance/decisions.ts";
import { INSTANCE_STREAM } from "../../../src/domain/instance/events.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { type EventStore, LOG_START, type Position } from "../../../src/ports/eventStore.ts";
import { DeliveryGate } from "../../../src/reactors/instance/deliveryGate.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { memoryEventStore } from "../../support/stores/memoryEventStore.ts";
import { testClock } from "./deliveryFixtures.ts";

const context = systemCommandContext("test");

/** Asks the log directly, through a fresh cache. */
function asking(store: EventStore, position: Position) {
  const clock = testClock();
  const deliveryGate = () =>
    new DeliveryGate({
      instanceStatus: instanceStatusCache(store),
      clock,
      isCaughtUp: (wanted) => position >= wanted,
      stopping: new AbortController().signal,
    });
  return { clock, deliveryGate, ask: () => deliveryGate().ask() };
}

async function newLog(): Promise<EventStore> {
  const store = memoryEventStore();
  const data = { logId: newId(), sealedDataKey: "x", contentStoreId: newId() };
  const created = { id: newId(), type: "InstanceCreated", data, metadata: {} };
  await store.append(INSTANCE_STREAM, [created], "noStream");
  return store;
}

test("mail may leave on a log that was never restored, even before it has an instance", async () => {
  expect(await asking(await newLog(), LOG_START).ask()).toBe(true);
  expect(await asking(memoryEventStore(), LOG_START).ask()).toBe(true);
});

test("a stop does not wait for a log that does not answer, and nothing leaves any more", async () => {
  const stopping = new AbortController();
  const store = { ...(await newLog()), read: () => new Promise<never>(() => {}) };
  const gate = new DeliveryGate({
    instanceStatus: instanceStatusCache(store),
    clock: testClock(),
    isCaughtUp: () => true,
    stopping: stopping.signal,
  });
  const asked = gate.ask();
  stopping.abort();
  expect(await asked).toBe(false);
});

test("nothing leaves while the log is frozen, nor for a second after that was seen", async () => {
  const store = await newLog();
  await freezeLog(store, context);
  const { clock, deliveryGate } = asking(store, LOG_START);
  const sealed = deliveryGate();
  expect(sealed.isOpen).toBe(true);
  expect(await sealed.ask()).toBe(false);
  expect(sealed.isOpen).toBe(false);
  clock.advance(1_000);
  expect(sealed.isOpen).toBe(true);
  await unfreezeLog(store, context);
  expect(await deliveryGate().ask()).toBe(true);
});

test("after a restoration nothing leaves until the read model knows which mail is held", async () => {
  const store = await newLog();
  const before = await store.head();
  const restoration = { copyId: newId(), from: "backup", takenAt: 0, sealed: false, at: 0 } as const;
  const aggregate = instanceAggregate;
  await transact(store, aggregate, (state) => restoreInstance(state, restoration), context);
  const restored = await store.head();
  expect(await asking(store, before).ask()).toBe(false);
  expect(await asking(store, restored).ask()).toBe(true);
  const pending = asking(store, restored).deliveryGate();
  await pending.ask();
  expect(pending.downtimes).toEqual([{ from: 0, to: null }]);
  // What is held is a matter of rows from then on, and so is that it is not.
  await resumeDelivery(store, context);
  expect(await asking(store, before).ask()).toBe(true);
});
