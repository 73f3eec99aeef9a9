import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { EventStore } from "../../src/ports/eventStore.ts";
import { areReadModelsAhead } from "../../src/readModels/generations/logCutShort.ts";
import { memoryEventStore } from "../support/stores/memoryEventStore.ts";
import {
  added,
  append,
  appendMany,
  counter,
  follow,
  followOnce,
  newStorage,
  rowsOf,
  tally,
} from "./followFixtures.ts";

const EVENTS = 8;
const LOST = 3;

let storage: ReturnType<typeof newStorage>;
let whole: EventStore;
let older: EventStore;
beforeEach(async () => {
  storage = newStorage();
  [whole, older] = [memoryEventStore(), memoryEventStore()];
  const events = Array.from({ length: EVENTS }, (_, index) => added(index));
  await append(whole, "s-1", ...events);
  await append(older, "s-1", ...events.slice(0, EVENTS - LOST));
  await followOnce(storage, whole, [tally, counter]);
});
afterEach(() => storage.remove());

const isAhead = (store: EventStore, ...copies: string[]) =>
  areReadModelsAhead(store, storage, [storage.logId, ...copies]);

describe("read models are ahead of", () => {
  test("a log that has lost the events they end with, also once it has grown past them", async () => {
    expect(await isAhead(older)).toBe(true);
    await append(older, "s-2", ...Array.from({ length: 2 * LOST }, (_, index) => added(index)));
    expect(await isAhead(older)).toBe(true);
  });

  test("such a log also if the catalog is gone or damaged", async () => {
    const catalog = join(storage.directory, "catalog.db");
    writeFileSync(catalog, "no database");
    expect(await isAhead(older)).toBe(true);
    rmSync(catalog);
    expect(await isAhead(older)).toBe(true);
    expect(await isAhead(whole)).toBe(false);
  });

  test("a log without the restoration that made the copy they are of", async () => {
    await followOnce({ ...storage, logId: `${storage.logId}/copy-1` }, whole, [tally, counter]);
    expect(await isAhead(whole)).toBe(true);
    expect(await isAhead(whole, `${storage.logId}/copy-2`)).toBe(true);
    expect(await isAhead(whole, `${storage.logId}/copy-1`)).toBe(false);
    expect(await isAhead(whole, `${storage.logId}/copy-1`, `${storage.logId}/copy-2`)).toBe(false);
  });
});

describe("read models are not ahead of", () => {
  test("the log that they were made from, whatever was written since", async () => {
    expect(await isAhead(whole)).toBe(false);
    await appendMany(whole, EVENTS);
    expect(await isAhead(whole)).toBe(false);
  });

  test("a copy that was restored from that log, or another log", async () => {
    expect(await isAhead(older, `${storage.logId}/copy-1`)).toBe(false);
    expect(await areReadModelsAhead(older, storage, ["another"])).toBe(false);
  });

  test("any log if they were of an earlier version, and are new now", async () => {
    const next = { ...tally, version: 2 };
    await followOnce(storage, whole, [next, counter]);
    expect(await isAhead(whole)).toBe(false);
    expect(await isAhead(older)).toBe(true);
  });

  test("any log where there are none", async () => {
    rmSync(storage.directory, { recursive: true });
    expect(await isAhead(older)).toBe(false);
  });
});

test("nothing is given up before the loss is recorded: a follower that cannot finds it again", async () => {
  const before = rowsOf(storage, counter);
  const onLogCutShort = async () => {
    throw new Error("the store is away");
  };
  await expect(follow({ ...storage, onLogCutShort }, older, [tally, counter]).ended).rejects.toThrow("away");
  expect(rowsOf(storage, counter)).toEqual(before);
  expect(await isAhead(older)).toBe(true);
  let recorded = 0;
  const record = async () => {
    recorded += 1;
  };
  const following = follow({ ...storage, onLogCutShort: record }, older, [tally, counter]);
  await following.caughtUp();
  await following.stop();
  expect(recorded).toBe(1);
  expect(following.events).toContainEqual({ type: "logCutShort" });
  expect(await isAhead(older)).toBe(false);
});
