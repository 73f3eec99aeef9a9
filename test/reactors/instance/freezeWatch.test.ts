import { expect, test } from "bun:test";
import { freezeLog } from "../../../src/commands/instance/freezeLog.ts";
import { instanceStatusCache } from "../../../src/commands/instance/instanceStatusCache.ts";
import { INSTANCE_STREAM } from "../../../src/domain/instance/events.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { StoreError } from "../../../src/ports/eventStore.ts";
import { watchFreeze } from "../../../src/reactors/instance/freezeWatch.ts";
import { systemCommandContext } from "../../../src/service/systemCommandContext.ts";
import { memoryEventStore } from "../../support/stores/memoryEventStore.ts";

test("whether the log is frozen is an error while it cannot be read, unless that was seen before", async () => {
  const store = memoryEventStore();
  const data = { logId: newId(), sealedDataKey: "x", contentStoreId: newId() };
  await store.append(
    INSTANCE_STREAM,
    [{ id: newId(), type: "InstanceCreated", data, metadata: {} }],
    "noStream",
  );
  await freezeLog(store, systemCommandContext("test"));
  let isAway = true;
  const read: typeof store.read = async (...given) => {
    if (isAway) throw new StoreError("unavailable", "the store is away");
    return store.read(...given);
  };
  const freezes: string[] = [];
  const watch = watchFreeze(instanceStatusCache({ ...store, read }), () => void freezes.push("frozen"));
  try {
    await expect((async () => watch.isFrozen())()).rejects.toThrow("the store is away");
    expect(await watch.isKnownFrozen()).toBe(false);
    isAway = false;
    expect(await watch.isFrozen()).toBe(true);
    isAway = true;
    expect(watch.isFrozen()).toBe(true);
    expect(freezes).toEqual(["frozen"]);
  } finally {
    watch.stop();
  }
});
