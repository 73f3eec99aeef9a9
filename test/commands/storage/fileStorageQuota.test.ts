import { beforeEach, describe, expect, test } from "bun:test";
import { aggregateCache } from "../../../src/commands/aggregateCache.ts";
import { workspaceAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { limitWatch, type NearLimit } from "../../../src/commands/quota/limitWatch.ts";
import { type FileStorageQuota, fileStorageQuota } from "../../../src/commands/storage/fileStorageQuota.ts";
import { toNewEvents } from "../../../src/commands/transact.ts";
import { storageStream } from "../../../src/domain/storage/events.ts";
import { workspaceStream } from "../../../src/domain/workspace/events.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { StoreError } from "../../../src/ports/eventStore.ts";
import { readConfig } from "../../../src/service/config/config.ts";
import { testClock, type WatchedStore, watchedStore } from "../../reactors/email/deliveryFixtures.ts";
import { setLimits } from "../../support/limits.ts";
import { until } from "../../support/until.ts";

const QUOTA_BYTES = 10_000;
const context = { at: Date.parse("2030-01-01T00:00:00Z"), correlationId: "test", actor: "test" };

let store: WatchedStore;
let workspaceId: string;

function instance(warned: NearLimit[] = []): FileStorageQuota {
  const workspaces = aggregateCache(store, workspaceAggregate);
  const watch = limitWatch({ clock: testClock(), onNearLimit: (near) => void warned.push(near) });
  const { limitsDefault } = readConfig({});
  return fileStorageQuota({ store, workspaces, limitsDefault, limitWatch: watch });
}

const reserve = (quota: FileStorageQuota, holder: string, bytes: number) =>
  quota.reserve(workspaceId, holder, bytes, context);
const release = (quota: FileStorageQuota, holder: string) => quota.release(workspaceId, holder, context);
/** What an instance reads that has seen nothing yet. */
const usedInLog = () => instance().used(workspaceId);

beforeEach(async () => {
  store = watchedStore();
  workspaceId = newId();
  const created = toNewEvents([{ type: "WorkspaceCreated", data: { name: "shop" } }], context);
  await store.append(workspaceStream(workspaceId), created, "noStream");
  await setLimits({ store }, workspaceId, { storageBytes: QUOTA_BYTES });
});

describe("the storage quota", () => {
  test("is never exceeded by instances that race, and is used in full", async () => {
    const instances = [instance(), instance(), instance()];
    const answers = await Promise.all(
      instances.flatMap((quota, owner) =>
        Array.from({ length: 60 }, (_, index) => reserve(quota, `holder-${owner}-${index}`, 100)),
      ),
    );
    expect(answers.filter((outcome) => outcome === "reserved")).toHaveLength(QUOTA_BYTES / 100);
    expect(await usedInLog()).toBe(QUOTA_BYTES);
  });

  test("is warned of once when 80 % of it are used, and once when it has no room", async () => {
    const warned: NearLimit[] = [];
    const quota = instance(warned);
    await reserve(quota, "a", 7_999);
    expect(warned).toEqual([]);
    await reserve(quota, "b", 1);
    await reserve(quota, "c", 1);
    const near = { limit: "storage", ownerId: workspaceId, of: QUOTA_BYTES };
    expect(warned).toMatchObject([{ ...near, used: 8_000, isUsedUp: false }]);
    for (const holder of ["d", "e"]) expect(await reserve(quota, holder, 2_000)).toBe("noRoom");
    expect(warned.slice(1)).toMatchObject([{ ...near, used: 8_001, isUsedUp: true }]);
  });

  test("tells files that it never takes from those that it has no room for now", async () => {
    const warned: NearLimit[] = [];
    expect(await reserve(instance(warned), "a", QUOTA_BYTES + 1)).toBe("neverFits");
    expect(warned).toEqual([]);
  });

  test("that another instance has released is available at once", async () => {
    const [one, two] = [instance(), instance()];
    expect(await reserve(one, "a", QUOTA_BYTES)).toBe("reserved");
    expect(await reserve(two, "b", 1)).toBe("noRoom");
    await release(one, "a");
    expect(await reserve(two, "b", QUOTA_BYTES)).toBe("reserved");
    await release(one, "b");
    expect(await usedInLog()).toBe(0);
  });

  test("is written once for all who wait together", async () => {
    const quota = instance();
    await reserve(quota, "first", 1);
    const before = store.calls.append;
    await Promise.all(Array.from({ length: 50 }, (_, index) => reserve(quota, `holder-${index}`, 10)));
    // One for whoever came first, one for all who came while that was written.
    expect(store.calls.append - before).toBe(2);
    expect(await quota.used(workspaceId)).toBe(501);
  });

  test("is not written where nothing changes", async () => {
    const quota = instance();
    await reserve(quota, "a", 5);
    const before = store.calls.append;
    await release(quota, "b");
    expect(await reserve(quota, "a", 5)).toBe("reserved");
    expect(await reserve(quota, "c", QUOTA_BYTES)).toBe("noRoom");
    await quota.confirm(workspaceId, ["b"], context);
    expect(store.calls.append).toBe(before);
  });

  test("is read on from the known revision, not from the start", async () => {
    const [one, two] = [instance(), instance()];
    for (let index = 0; index < 20; index += 1) await reserve(one, `holder-${index}`, 1);
    await two.used(workspaceId);
    await reserve(one, "last", 1);
    const read: number[] = [];
    const { read: original } = store;
    store.read = (stream, from, ...rest) => {
      if (stream === storageStream(workspaceId)) read.push(from);
      return original(stream, from, ...rest);
    };
    expect(await two.used(workspaceId)).toBe(21);
    expect(read).toEqual([20]);
  });

  test("survives an outage of the store: waiting callers get the error, the next one is served", async () => {
    const quota = instance();
    store.beforeAppend = () => {
      throw new StoreError("unavailable", "the store is unavailable");
    };
    const answers = await Promise.allSettled([reserve(quota, "a", 1), reserve(quota, "b", 1)]);
    expect(answers.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    store.beforeAppend = () => {};
    expect(await reserve(quota, "c", QUOTA_BYTES)).toBe("reserved");
  });

  test("counts what the store accepted without an answer", async () => {
    const quota = instance();
    store.afterAppend = () => {
      throw new StoreError("outcomeUnknown", "outcome unknown");
    };
    await expect(reserve(quota, "a", 7)).rejects.toThrow(StoreError);
    store.afterAppend = () => {};
    expect(await reserve(quota, "b", QUOTA_BYTES - 6)).toBe("noRoom");
    expect(await reserve(quota, "b", QUOTA_BYTES - 7)).toBe("reserved");
  });
});

describe("a long history of storage", () => {
  const firstReadable = async () => (await store.read(storageStream(workspaceId), 0, 1))[0]?.revision ?? 0;

  /** Far more reservations than there are between two counts. */
  const ROUNDS_MAX = 5_000;

  /** Reserves and releases until the stream is counted again and truncated. */
  const reserveAndRelease = async (quota: FileStorageQuota) => {
    const before = await firstReadable();
    let round = 0;
    const isTruncated = async () => {
      round += 1;
      const names = Array.from({ length: 100 }, (_, index) => `passing-${round}-${index}`);
      await Promise.all(names.map((name) => reserve(quota, name, 1)));
      await Promise.all(names.map((name) => release(quota, name)));
      return (await firstReadable()) > before;
    };
    await until(isTruncated, "the stream to be truncated");
  };

  test("is counted again and truncated, and no reservation is lost", async () => {
    const quota = instance();
    for (let index = 0; index < 30; index += 1) await reserve(quota, `kept-${index}`, 100);
    await reserveAndRelease(quota);
    await reserveAndRelease(quota);
    const events = await store.read(storageStream(workspaceId), 0, 5_000);
    expect(events.length).toBeLessThan(2_500);
    // The count event says where the stream is truncated, for readers during the truncation.
    const truncations = events.flatMap(({ data }) => (data as { before?: number }).before ?? []);
    expect(truncations).toContain(await firstReadable());
    expect(await usedInLog()).toBe(3_000);
    expect(await quota.used(workspaceId)).toBe(3_000);
    expect(await reserve(instance(), "more", QUOTA_BYTES - 3_000)).toBe("reserved");
  });

  test("that another instance has truncated is read again", async () => {
    const [one, two] = [instance(), instance()];
    await reserve(two, "kept", 100);
    await reserve(two, "gone", 100);
    await release(one, "gone");
    await reserveAndRelease(one);
    // What `two` has not read, the release of `gone` among it, cannot be read any more.
    expect(await two.used(workspaceId)).toBe(100);
  });

  test("is left as it is while it cannot be truncated", async () => {
    const quota = instance();
    let attempts = 0;
    const { truncateBefore } = store;
    store.truncateBefore = async () => {
      attempts += 1;
      throw new StoreError("unavailable", "the store is unavailable");
    };
    const name = "passing";
    await reserve(quota, "kept", 100);
    for (let rounds = 0; attempts === 0 && rounds < ROUNDS_MAX; rounds += 1) {
      await reserve(quota, name, 1);
      await release(quota, name);
    }
    expect(attempts).toBe(1);
    expect(await usedInLog()).toBe(100);
    store.truncateBefore = truncateBefore;
    await reserveAndRelease(quota);
    expect(await usedInLog()).toBe(100);
  }, 60_000);
});
