import { describe, expect, test } from "bun:test";
import { sqliteReadDatabases } from "../../../src/adapters/sqlite/readModelDatabases.ts";
import { freezeLog, unfreezeLog } from "../../../src/commands/instance/freezeLog.ts";
import { FrozenLogError, openInstance } from "../../../src/commands/instance/openInstance.ts";
import {
  joinUnregistered,
  registeredServices,
  registerService,
} from "../../../src/commands/instance/registerService.ts";
import { exportLog } from "../../../src/commands/log/exportLog.ts";
import { SERVICES_STREAM } from "../../../src/domain/serviceRegistry/events.ts";
import type { EventStore } from "../../../src/ports/eventStore.ts";
import type { RememberedServiceId } from "../../../src/ports/rememberedServiceId.ts";
import { memoryEventStore } from "../../support/stores/memoryEventStore.ts";

const context = { at: Date.now(), correlationId: "test", actor: "system" };
const claims = { masterKey: new Uint8Array(32), masterKeyPrevious: null, contentStoreId: "content" };
const A = { host: "a", dataDir: "/data" };
const B = { host: "b", dataDir: "/data" };

async function openLog(): Promise<EventStore> {
  const store = memoryEventStore();
  await openInstance(store, claims, context);
  return store;
}

/** What a data directory remembers, without a file. */
function memoryInMemory(): RememberedServiceId {
  let known: string | null = null;
  return {
    previous: () => known,
    remember(serviceId) {
      known = serviceId;
    },
    forget() {
      known = null;
    },
  };
}

const join = (store: EventStore, location: typeof A, memory = memoryInMemory()) =>
  registerService(store, { location, memory }, () => context);

describe("the registry of services", () => {
  test("lists those that have joined and not left, even two in one place, as they come and go", async () => {
    const store = await openLog();
    const running = registeredServices(store);
    expect(await running()).toEqual([]);
    const first = await join(store, A);
    const rejoined = await join(store, A);
    const other = await join(store, B);
    expect(await running()).toEqual([A, A, B]);
    await first.leave();
    expect(await running()).toEqual([A, B]);
    await Promise.all([rejoined.leave(), other.leave()]);
    expect(await running()).toEqual([]);
  });

  test("loses a service that died when the next one on its data directory joins, and no other", async () => {
    const store = await openLog();
    const running = registeredServices(store);
    const memory = memoryInMemory();
    const first = await join(store, A, memory);
    expect(first.predecessor).toBeNull();
    expect((await join(store, B)).predecessor).toBeNull();
    const second = await join(store, A, memory);
    expect(second.predecessor).toBe(first.serviceId);
    expect(await running()).toEqual([B, A]);
    await second.leave();
    expect(await running()).toEqual([B]);
    expect(memory.previous()).toBeNull();
  });

  test("is not needed to know whether the last service on a data directory died or left", async () => {
    const memory = memoryInMemory();
    const first = joinUnregistered(memory);
    const second = joinUnregistered(memory);
    expect([first.predecessor, second.predecessor]).toEqual([null, first.serviceId]);
    await second.leave();
    expect(joinUnregistered(memory).predecessor).toBeNull();
  });

  test("records once that a service has left, and again if that failed", async () => {
    let isUnavailable = false;
    const store = memoryEventStore({ isUnavailable: () => isUnavailable });
    await openInstance(store, claims, context);
    const service = await join(store, A);
    isUnavailable = true;
    await expect(service.leave()).rejects.toThrow();
    isUnavailable = false;
    for (let times = 0; times < 3; times += 1) await service.leave();
    expect(await store.lastRevision(SERVICES_STREAM)).toBe(1);
    expect(await registeredServices(store)()).toEqual([]);
  });

  test("lets nobody in on a frozen log, and keeps no entry of it", async () => {
    const store = await openLog();
    await freezeLog(store, context);
    await expect(join(store, A)).rejects.toThrow(FrozenLogError);
    expect(await registeredServices(store)()).toEqual([]);
    await unfreezeLog(store, context);
    await join(store, A);
    expect(await registeredServices(store)()).toEqual([A]);
  });

  test("leaves no gap: a service that a freeze did not find finds the freeze", async () => {
    // A freeze just before the entry is written, and just after.
    for (const moment of ["before", "after"] as const) {
      const store = await openLog();
      let seen: readonly unknown[] = [];
      const freeze = async () => {
        await freezeLog(store, context);
        seen = await registeredServices(store)();
      };
      const racing: EventStore = Object.assign(Object.create(store), {
        async append(stream: string, ...rest: [never, never]) {
          const isEntry = stream === SERVICES_STREAM && (await store.lastRevision(stream)) === null;
          if (isEntry && moment === "before") await freeze();
          const result = await store.append(stream, ...rest);
          if (isEntry && moment === "after") await freeze();
          return result;
        },
      });
      await expect(join(racing, A)).rejects.toThrow(FrozenLogError);
      expect(seen).toEqual(moment === "before" ? [] : [A]);
    }
  });

  test("belongs to the store, and is in no export", async () => {
    const store = await openLog();
    await (await join(store, A)).leave();
    const scratch = sqliteReadDatabases.open(":memory:", "build");
    const header = { exportId: "e", exportedAt: "2030-01-01T00:00:00Z", sealed: false };
    const instance = { logId: "l", contentStoreId: "content", sealedDataKey: "k" };
    let text = "";
    const silent = { onProgress: () => {}, onEnd: () => {} };
    for await (const chunk of exportLog({ store, header: { ...header, ...instance }, scratch, ...silent }))
      text += chunk;
    scratch.close();
    expect(text).toContain('"InstanceCreated"');
    expect(text).not.toContain("Service");
  });
});
