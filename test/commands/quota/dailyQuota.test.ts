import { beforeEach, describe, expect, test } from "bun:test";
import { aggregateCache } from "../../../src/commands/aggregateCache.ts";
import { workspaceAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import { type DailyQuota, dailyQuota, type QuotaUnit } from "../../../src/commands/quota/dailyQuota.ts";
import { limitWatch, type NearLimit } from "../../../src/commands/quota/limitWatch.ts";
import { toNewEvents } from "../../../src/commands/transact.ts";
import { quotaDay, quotaStream } from "../../../src/domain/quota/events.ts";
import { workspaceStream } from "../../../src/domain/workspace/events.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { DAY_MS, rfc3339, SECOND_MS, utcDay } from "../../../src/kernel/time.ts";
import { StoreError } from "../../../src/ports/eventStore.ts";
import { readConfig } from "../../../src/service/config/config.ts";
import {
  type TestClock,
  testClock,
  type WatchedStore,
  watchedStore,
} from "../../reactors/email/deliveryFixtures.ts";
import { setLimits } from "../../support/limits.ts";
import { settleAfter, until } from "../../support/until.ts";

let store: WatchedStore;
let clock: TestClock;
let workspaceId: string;

/** One instance's hold on the quotas, and what makes it look at a workspace's limits anew. */
function instance(idleMs?: number, warned: NearLimit[] = []): DailyQuota & { forget(): void } {
  const workspaces = aggregateCache(store, workspaceAggregate);
  const { limitsDefault } = readConfig({});
  const watch = limitWatch({ clock, onNearLimit: (near) => void warned.push(near) });
  const given = { store, clock, workspaces, limitsDefault, limitWatch: watch };
  const options = { ...given, ...(idleMs === undefined ? {} : { idleMs }) };
  return { ...dailyQuota(options), forget: () => workspaces.forget(workspaceId) };
}

async function takeConcurrently(quota: DailyQuota, count: number, at = clock.now()): Promise<number> {
  const taken = await Promise.all(Array.from({ length: count }, () => quota.take(workspaceId, newId(), at)));
  return taken.filter((unit) => unit !== null).length;
}

const usedInLog = () => instance().used(workspaceId, clock.now());

beforeEach(async () => {
  store = watchedStore();
  clock = testClock();
  workspaceId = newId();
  const context = { at: clock.now(), correlationId: "test", actor: "test", workspaceId };
  const created = toNewEvents([{ type: "WorkspaceCreated", data: { name: "shop" } }], context);
  await store.append(workspaceStream(workspaceId), created, "noStream");
  await setLimits({ store }, workspaceId, { messagesPerDay: 1_000 });
});

describe("the daily limit", () => {
  test("is used up to the last message and no further, by one instance", async () => {
    const quota = instance();
    expect(await takeConcurrently(quota, 1_200)).toBe(1_000);
    expect(await quota.used(workspaceId, clock.now())).toBe(1_000);
  });

  test("is used up to the last message and no further, by instances that race", async () => {
    const instances = [instance(), instance(), instance()];
    const taken = await Promise.all(instances.map((quota) => takeConcurrently(quota, 700)));
    // What one has in hand when the others find nothing left is still there for its own callers.
    const further = await Promise.all(instances.map((quota) => takeConcurrently(quota, 100)));
    expect([...taken, ...further].reduce((sum, count) => sum + count, 0)).toBe(1_000);
    expect(await usedInLog()).toBe(1_000);
  });

  test("is warned of at 80 % and when it is used up, once a day each, by each instance that reserves", async () => {
    const warned: NearLimit[] = [];
    const instances = [instance(undefined, warned), instance(undefined, warned)];
    const take = async (count: number) => {
      for (const quota of instances) await takeConcurrently(quota, count);
    };
    await take(350);
    expect(warned).toEqual([]);
    await take(100);
    const near = { limit: "daily", ownerId: workspaceId, of: 1_000, isUsedUp: false };
    const day = utcDay(rfc3339(clock.now()));
    expect(warned).toMatchObject([
      { ...near, day },
      { ...near, day },
    ]);
    await take(100);
    await take(100);
    expect(warned.slice(2)).toMatchObject([
      { ...near, used: 1_000, isUsedUp: true },
      { ...near, used: 1_000, isUsedUp: true },
    ]);
    clock.advance(DAY_MS);
    await take(450);
    expect(warned.slice(4)).toMatchObject([{ ...near, day: utcDay(rfc3339(clock.now())) }]);
  });

  test("is warned of by an instance that starts when 80 % is used already", async () => {
    await takeConcurrently(instance(), 900);
    const warned: NearLimit[] = [];
    await takeConcurrently(instance(undefined, warned), 1);
    expect(warned).toHaveLength(1);
  });

  test.each([
    { messagesPerDay: 600, taken: 1 },
    { messagesPerDay: 400, taken: 0 },
  ])("is warned of when it is lowered to $messagesPerDay after 500 messages", async (lowered) => {
    const { messagesPerDay, taken } = lowered;
    const warned: NearLimit[] = [];
    const quota = instance(undefined, warned);
    await takeConcurrently(quota, 500);
    expect(warned).toEqual([]);
    await setLimits({ store }, workspaceId, { messagesPerDay });
    quota.forget();
    expect(await takeConcurrently(quota, 1)).toBe(taken);
    expect(warned).toMatchObject([{ of: messagesPerDay }]);
  });

  test("is not warned of where it is 0 from the start", async () => {
    await setLimits({ store }, workspaceId, { messagesPerDay: 0 });
    const warned: NearLimit[] = [];
    expect(await takeConcurrently(instance(undefined, warned), 1)).toBe(0);
    expect(warned).toEqual([]);
  });

  test("is warned of once a day, also when a late send of the day before comes in between", async () => {
    const warned: NearLimit[] = [];
    const quota = instance(undefined, warned);
    const yesterday = clock.now();
    await takeConcurrently(quota, 900, yesterday);
    clock.advance(DAY_MS);
    await takeConcurrently(quota, 900);
    const days = [yesterday, clock.now()].map((at) => utcDay(rfc3339(at)));
    expect(warned.map(({ day }) => day)).toEqual(days);
    await takeConcurrently(quota, 50, yesterday);
    await takeConcurrently(quota, 50);
    expect(warned).toHaveLength(2);
  });

  test("is warned of once, also when messages are returned and taken again", async () => {
    await setLimits({ store }, workspaceId, { messagesPerDay: 10 });
    const warned: NearLimit[] = [];
    const quota = instance(undefined, warned);
    expect(await takeConcurrently(quota, 7)).toBe(7);
    expect(warned).toEqual([]);
    for (let turn = 0; turn < 2; turn += 1) {
      const unit = await quota.take(workspaceId, newId(), clock.now());
      expect(warned).toHaveLength(1);
      if (unit !== null) await quota.returnUnit(workspaceId, unit);
    }
  });

  test("a count that cannot be read refuses no message that waits for it", async () => {
    const quota = instance();
    expect(await takeConcurrently(quota, 1)).toBe(1);
    // The reserve was made under a higher limit, so the next message needs another one.
    await setLimits({ store }, workspaceId, { messagesPerDay: 500 });
    quota.forget();
    const { lastRevision } = store;
    const read = Promise.withResolvers<number | null>();
    let isReading = false;
    store.lastRevision = () => {
      store.lastRevision = lastRevision;
      isReading = true;
      return read.promise;
    };
    const used = quota.used(workspaceId, clock.now());
    await until(() => isReading, "the count to be read");
    const taken = quota.take(workspaceId, newId(), clock.now());
    await settleAfter(() => {});
    read.reject(new StoreError("unavailable", "no answer"));
    const ends = await Promise.allSettled([used, taken]);
    expect(ends.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
  });

  test("of 0 lets nothing through", async () => {
    await setLimits({ store }, workspaceId, { messagesPerDay: 0 });
    expect(await takeConcurrently(instance(), 5)).toBe(0);
  });

  test("is reserved in blocks: concurrent callers share one reservation", async () => {
    const quota = instance();
    const before = store.calls.append;
    expect(await takeConcurrently(quota, 60)).toBe(60);
    expect(store.calls.append - before).toBe(1);
  });

  test("that is reached is not read from the log for every request, but is read again soon", async () => {
    await setLimits({ store }, workspaceId, { messagesPerDay: 3 });
    const quota = instance();
    expect(await takeConcurrently(quota, 10)).toBe(3);
    const { read, append } = store.calls;
    expect(await takeConcurrently(quota, 100)).toBe(0);
    expect(store.calls).toEqual({ read, append });
    clock.advance(SECOND_MS);
    expect(await takeConcurrently(quota, 1)).toBe(0);
    expect(store.calls.read).toBeGreaterThan(read);
  });

  test("that is raised lets more through", async () => {
    await setLimits({ store }, workspaceId, { messagesPerDay: 3 });
    const quota = instance();
    expect(await takeConcurrently(quota, 10)).toBe(3);
    await setLimits({ store }, workspaceId, { messagesPerDay: 5 });
    quota.forget();
    expect(await takeConcurrently(quota, 10)).toBe(2);
  });

  test("that is lowered applies to blocks that were already reserved, on every instance", async () => {
    const [one, two] = [instance(), instance()];
    expect(await takeConcurrently(one, 5)).toBe(5);
    expect(await takeConcurrently(two, 5)).toBe(5);
    await setLimits({ store }, workspaceId, { messagesPerDay: 12 });
    for (const quota of [one, two]) quota.forget();
    let further = 0;
    // An instance gives up what it holds when it is asked for more; until then the others find nothing.
    for (let round = 0; round < 3; round += 1) {
      for (const quota of [one, two]) further += await takeConcurrently(quota, 5);
      clock.advance(SECOND_MS);
    }
    expect(further).toBe(2);
    await setLimits({ store }, workspaceId, { messagesPerDay: 7 });
    for (const quota of [one, two]) quota.forget();
    expect((await takeConcurrently(one, 5)) + (await takeConcurrently(two, 5))).toBe(0);
    expect(await usedInLog()).toBe(12);
  });

  test("is counted for each UTC day separately", async () => {
    await setLimits({ store }, workspaceId, { messagesPerDay: 2 });
    const quota = instance();
    const today = clock.now();
    const tomorrow = (quotaDay(today) + 1) * DAY_MS;
    expect(await takeConcurrently(quota, 3, tomorrow - 1)).toBe(2);
    expect(await takeConcurrently(quota, 3, tomorrow)).toBe(2);
    expect(await takeConcurrently(quota, 3, tomorrow - 1)).toBe(0);
  });
});

describe("a unit that was taken and not used", () => {
  test("can be taken again", async () => {
    await setLimits({ store }, workspaceId, { messagesPerDay: 1 });
    const quota = instance();
    for (let round = 0; round < 3; round += 1) {
      const unit = await quota.take(workspaceId, newId(), clock.now());
      expect(await takeConcurrently(quota, 1)).toBe(0);
      await quota.returnUnit(workspaceId, unit as QuotaUnit);
    }
    expect(await quota.used(workspaceId, clock.now())).toBe(0);
  });

  test("goes back to its own day after midnight", async () => {
    await setLimits({ store }, workspaceId, { messagesPerDay: 1 });
    const quota = instance();
    const today = clock.now();
    const unit = await quota.take(workspaceId, newId(), today);
    clock.advance(DAY_MS);
    expect(await takeConcurrently(quota, 2)).toBe(1);
    await quota.returnUnit(workspaceId, unit as QuotaUnit);
    expect(await takeConcurrently(quota, 1)).toBe(0);
    expect(await quota.used(workspaceId, today)).toBe(0);
    expect(await quota.used(workspaceId, clock.now())).toBe(1);
  });

  test("is available to others once the instance has stopped", async () => {
    const [one, two] = [instance(), instance()];
    expect(await takeConcurrently(one, 1)).toBe(1);
    expect(await usedInLog()).toBe(62);
    await one.stop();
    expect(await usedInLog()).toBe(1);
    expect(await takeConcurrently(two, 1_100)).toBe(999);
  });

  test("is available to others once it was idle, and is reserved again by the first who needs one", async () => {
    const idleMs = 60;
    const quota = instance(idleMs);
    expect(await takeConcurrently(quota, 1)).toBe(1);
    clock.advance(idleMs);
    await until(async () => (await usedInLog()) === 1, "the block to be returned");
    expect(await takeConcurrently(quota, 1_000)).toBe(999);
    await quota.stop();
  });

  test("has gone back when the instance has stopped, even if it was on its way before", async () => {
    const idleMs = 60;
    const quota = instance(idleMs);
    expect(await takeConcurrently(quota, 1)).toBe(1);
    const begun = Promise.withResolvers<void>();
    store.beforeAppend = () => {
      begun.resolve();
      return Bun.sleep(50);
    };
    clock.advance(idleMs);
    await begun.promise;
    await quota.stop();
    expect(await usedInLog()).toBe(1);
  });

  test("stays in reserve while it is in use", async () => {
    const idleMs = 60;
    const quota = instance(idleMs);
    const other = newId();
    expect(await takeConcurrently(quota, 1)).toBe(1);
    clock.advance(idleMs / 2);
    // Another workspace's block is older by half the time; when that has gone back the sweep has been here.
    await quota.take(other, newId(), clock.now());
    clock.advance(idleMs / 2);
    expect(await takeConcurrently(quota, 1)).toBe(1);
    clock.advance(idleMs / 2);
    await until(
      async () => (await instance().used(other, clock.now())) === 1,
      "the other block to be returned",
    );
    expect(await usedInLog()).toBe(62);
    await quota.stop();
  });
});

describe("requests for one message on several instances", () => {
  const take = (quota: DailyQuota, messageId: string) => quota.take(workspaceId, messageId, clock.now());

  test("all get one if one is left, and only one of them uses it", async () => {
    await setLimits({ store }, workspaceId, { messagesPerDay: 1 });
    const instances = [instance(), instance(), instance()];
    const messageId = newId();
    const units = await Promise.all(instances.map((quota) => take(quota, messageId)));
    expect(units.filter((unit) => unit !== null)).toHaveLength(3);
    expect(await take(instance(), newId())).toBeNull();
    for (const [index, quota] of instances.entries()) {
      if (index > 0) await quota.returnUnit(workspaceId, units[index] as QuotaUnit);
    }
    expect(await usedInLog()).toBe(1);
    expect(await take(instance(), newId())).toBeNull();
  });

  test("get none once it was returned and taken for another message", async () => {
    await setLimits({ store }, workspaceId, { messagesPerDay: 1 });
    const [one, two] = [instance(), instance()];
    const messageId = newId();
    await one.returnUnit(workspaceId, (await take(one, messageId)) as QuotaUnit);
    expect(await take(two, newId())).not.toBeNull();
    expect(await take(one, messageId)).toBeNull();
  });

  test("survive a crash: the unit it held is for its message's retry", async () => {
    await setLimits({ store }, workspaceId, { messagesPerDay: 1 });
    const messageId = newId();
    await take(instance(), messageId);
    const restarted = instance();
    expect(await take(restarted, newId())).toBeNull();
    expect(await take(restarted, messageId)).not.toBeNull();
  });
});

describe("a store in trouble", () => {
  test("loses a reserve whose return has an unknown outcome, and never grants it twice", async () => {
    const [one, two] = [instance(), instance()];
    expect(await takeConcurrently(one, 2)).toBe(2);
    store.afterAppend = () => {
      throw new StoreError("outcomeUnknown", "outcome unknown");
    };
    await one.stop();
    store.afterAppend = () => {};
    expect((await takeConcurrently(one, 1_100)) + (await takeConcurrently(two, 1_100))).toBe(998);
  });

  test("that accepted a reservation without an answer costs that block and no more", async () => {
    const quota = instance();
    store.afterAppend = (stream) => {
      if (stream === quotaStream(workspaceId, quotaDay(clock.now())))
        throw new StoreError("outcomeUnknown", "outcome unknown");
    };
    await expect(quota.take(workspaceId, newId(), clock.now())).rejects.toThrow(StoreError);
    store.afterAppend = () => {};
    expect(await takeConcurrently(quota, 1_100)).toBe(1_000 - 62);
  });

  test("that is down keeps nobody from the reserve, and costs nothing", async () => {
    const quota = instance();
    expect(await takeConcurrently(quota, 60)).toBe(60);
    store.beforeAppend = () => {
      throw new StoreError("unavailable", "the store is unavailable");
    };
    expect(await takeConcurrently(quota, 2)).toBe(2);
    await expect(quota.take(workspaceId, newId(), clock.now())).rejects.toThrow(StoreError);
    await quota.stop();
    store.beforeAppend = () => {};
    expect(await takeConcurrently(quota, 1_100)).toBe(938);
  });
});
