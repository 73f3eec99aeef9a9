import { beforeEach, describe, expect, test } from "bun:test";
import { aggregateCache } from "../../../src/commands/aggregateCache.ts";
import { workspaceAggregate } from "../../../src/commands/aggregateDefinitions.ts";
import {
  type FileStorageLedger,
  fileStorageLedger,
} from "../../../src/commands/storage/fileStorageLedger.ts";
import { toNewEvents } from "../../../src/commands/transact.ts";
import { storageStream } from "../../../src/domain/storage/events.ts";
import { workspaceStream } from "../../../src/domain/workspace/events.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { StoreError } from "../../../src/ports/eventStore.ts";
import { readConfig } from "../../../src/service/config/config.ts";
import { type WatchedStore, watchedStore } from "../../reactors/email/deliveryFixtures.ts";
import { setLimits } from "../../support/limits.ts";
import { until } from "../../support/until.ts";

const ALLOWANCE = 10_000;
const context = { at: Date.parse("2030-01-01T00:00:00Z"), correlationId: "test", actor: "test" };

let store: WatchedStore;
let workspaceId: string;

function instance(): FileStorageLedger {
  const workspaces = aggregateCache(store, workspaceAggregate, workspaceStream);
  return fileStorageLedger({ store, workspaces, limitsDefault: readConfig({}).limitsDefault });
}

const reserve = (ledger: FileStorageLedger, holder: string, bytes: number) =>
  ledger.reserve(workspaceId, holder, bytes, context);
const release = (ledger: FileStorageLedger, holder: string) => ledger.release(workspaceId, holder, context);
/** What an instance reads that has seen nothing yet. */
const usedInLog = () => instance().used(workspaceId);

beforeEach(async () => {
  store = watchedStore();
  workspaceId = newId();
  const created = toNewEvents([{ type: "WorkspaceCreated", data: { name: "shop" } }], context);
  await store.append(workspaceStream(workspaceId), created, "noStream");
  await setLimits({ store }, workspaceId, { storageBytes: ALLOWANCE });
});

describe("the storage allowance", () => {
  test("is never exceeded by instances that race, and is used in full", async () => {
    const instances = [instance(), instance(), instance()];
    const answers = await Promise.all(
      instances.flatMap((ledger, who) =>
        Array.from({ length: 60 }, (_, index) => reserve(ledger, `holder-${who}-${index}`, 100)),
      ),
    );
    expect(answers.filter((isReserved) => isReserved)).toHaveLength(ALLOWANCE / 100);
    expect(await usedInLog()).toBe(ALLOWANCE);
  });

  test("that another instance has let go of is there at once", async () => {
    const [one, two] = [instance(), instance()];
    expect(await reserve(one, "a", ALLOWANCE)).toBeTrue();
    expect(await reserve(two, "b", 1)).toBeFalse();
    await release(one, "a");
    expect(await reserve(two, "b", ALLOWANCE)).toBeTrue();
    await release(one, "b");
    expect(await usedInLog()).toBe(0);
  });

  test("is written once for all who wait together", async () => {
    const ledger = instance();
    await reserve(ledger, "first", 1);
    const before = store.calls.append;
    await Promise.all(Array.from({ length: 50 }, (_, index) => reserve(ledger, `holder-${index}`, 10)));
    // One for whoever came first, one for all who came while that was written.
    expect(store.calls.append - before).toBe(2);
    expect(await ledger.used(workspaceId)).toBe(501);
  });

  test("is not written where nothing changes", async () => {
    const ledger = instance();
    await reserve(ledger, "a", 5);
    const before = store.calls.append;
    await release(ledger, "b");
    expect(await reserve(ledger, "a", 5)).toBeTrue();
    expect(await reserve(ledger, "c", ALLOWANCE)).toBeFalse();
    await ledger.confirm(workspaceId, ["b"], context);
    expect(store.calls.append).toBe(before);
  });

  test("is read on from where it was known, not from the start", async () => {
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

  test("survives a store that is away: whoever waited is told, the next one is served", async () => {
    const ledger = instance();
    store.beforeAppend = () => {
      throw new StoreError("unavailable", "away");
    };
    const answers = await Promise.allSettled([reserve(ledger, "a", 1), reserve(ledger, "b", 1)]);
    expect(answers.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    store.beforeAppend = () => {};
    expect(await reserve(ledger, "c", ALLOWANCE)).toBeTrue();
  });

  test("counts what the store took without saying so", async () => {
    const ledger = instance();
    store.afterAppend = () => {
      throw new StoreError("outcomeUnknown", "who knows");
    };
    await expect(reserve(ledger, "a", 7)).rejects.toThrow(StoreError);
    store.afterAppend = () => {};
    expect(await reserve(ledger, "b", ALLOWANCE - 6)).toBeFalse();
    expect(await reserve(ledger, "b", ALLOWANCE - 7)).toBeTrue();
  });
});

describe("a long history of storage", () => {
  const firstReadable = async () => (await store.read(storageStream(workspaceId), 0, 1))[0]?.revision ?? 0;

  /** Reserves and releases until the stream was counted and cut off. */
  const wearOut = async (ledger: FileStorageLedger) => {
    const before = await firstReadable();
    let round = 0;
    const isCut = async () => {
      round += 1;
      const names = Array.from({ length: 100 }, (_, index) => `passing-${round}-${index}`);
      await Promise.all(names.map((name) => reserve(ledger, name, 1)));
      await Promise.all(names.map((name) => release(ledger, name)));
      return (await firstReadable()) > before;
    };
    await until(isCut, "the stream to be cut off");
  };

  test("is counted anew and cut off, and nothing that is held is lost", async () => {
    const ledger = instance();
    for (let index = 0; index < 30; index += 1) await reserve(ledger, `kept-${index}`, 100);
    await wearOut(ledger);
    await wearOut(ledger);
    const events = await store.read(storageStream(workspaceId), 0, 5_000);
    expect(events.length).toBeLessThan(2_500);
    // The count itself says where it was cut off, for whoever reads while that is done.
    const said = events.flatMap(({ data }) => (data as { before?: number }).before ?? []);
    expect(said).toContain(await firstReadable());
    expect(await usedInLog()).toBe(3_000);
    expect(await ledger.used(workspaceId)).toBe(3_000);
    expect(await reserve(instance(), "more", ALLOWANCE - 3_000)).toBeTrue();
  });

  test("that another instance has cut off is read anew", async () => {
    const [one, two] = [instance(), instance()];
    await reserve(two, "kept", 100);
    await reserve(two, "gone", 100);
    await release(one, "gone");
    await wearOut(one);
    // What `two` has not read, the release of `gone` among it, cannot be read any more.
    expect(await two.used(workspaceId)).toBe(100);
  });

  test("is left as it is while it cannot be cut off", async () => {
    const ledger = instance();
    let asked = 0;
    const { truncateBefore } = store;
    store.truncateBefore = async () => {
      asked += 1;
      throw new StoreError("unavailable", "away");
    };
    const name = "passing";
    await reserve(ledger, "kept", 100);
    await until(async () => {
      await reserve(ledger, name, 1);
      await release(ledger, name);
      return asked === 1;
    }, "an attempt to cut off");
    expect(await usedInLog()).toBe(100);
    store.truncateBefore = truncateBefore;
    await wearOut(ledger);
    expect(await usedInLog()).toBe(100);
  });
});
