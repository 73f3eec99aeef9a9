import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { basename, join } from "node:path";
import type { Projection } from "../../projections/projection.ts";
import type { EventStore } from "../../src/ports/eventStore.ts";
import { ReadDatabaseError, type ReadDatabases } from "../../src/ports/readDatabase.ts";
import { createApplier, feedToHead } from "../../src/readModels/applyEvents.ts";
import { openCatalog } from "../../src/readModels/generations/generationCatalog.ts";
import { createGeneration } from "../../src/readModels/generations/generationFiles.ts";
import { openCurrentToRead } from "../../src/readModels/generations/openCurrentToRead.ts";
import { listReadModels } from "../../src/readModels/listReadModels.ts";
import type { ReadingProgress } from "../../src/readModels/logReadProgress.ts";
import { type RebuildOptions, rebuildReadModels } from "../../src/readModels/rebuildReadModels.ts";
import { memoryEventStore } from "../support/stores/memoryEventStore.ts";
import { until } from "../support/until.ts";
import {
  added,
  append,
  appendMany,
  brittle,
  counter,
  currentFile,
  databaseFiles,
  foldTally,
  follow,
  followOnce,
  newStorage,
  rowsOf,
  tally,
} from "./followFixtures.ts";

let storage: ReturnType<typeof newStorage>;
beforeEach(() => {
  storage = newStorage();
});
afterEach(() => storage.remove());

function rebuild(store: EventStore, projections: Projection[], options: Partial<RebuildOptions> = {}) {
  const signal = new AbortController().signal;
  return rebuildReadModels({ ...storage, store, projections, owner: true, signal, ...options });
}

describe("as the owner of the directory", () => {
  test("new generations replace the old ones, with the same rows", async () => {
    const store = memoryEventStore();
    await appendMany(store, 60);
    await followOnce(storage, store, [tally, counter]);
    const progress: ReadingProgress[] = [];
    const results = await rebuild(store, [tally, counter], { onProgress: (p) => progress.push(p) });
    expect(results.map(({ outcome, file }) => [outcome, file])).toEqual([
      ["current", "tally.1.3.db"],
      ["current", "counter.1.4.db"],
    ]);
    expect(progress.at(-1)).toMatchObject({ events: 60, position: await store.head() });
    expect(rowsOf(storage, tally)).toEqual(await foldTally(store));
    expect(databaseFiles(storage)).toEqual(["counter.1.4.db", "tally.1.3.db"]);
  });

  test("nothing is rebuilt from a log that lacks events of the read models, which alone show that", async () => {
    const [whole, older] = [memoryEventStore(), memoryEventStore()];
    await appendMany(whole, 12);
    await appendMany(older, 7);
    await followOnce(storage, whole, [tally, counter]);
    for (const owner of [true, false])
      await expect(rebuild(older, [tally], { owner })).rejects.toThrow("hold events that the log lacks");
    expect(databaseFiles(storage)).toEqual(["counter.1.2.db", "tally.1.1.db"]);
  });

  test("the first generations can be built before anything follows the log", async () => {
    const store = memoryEventStore();
    await appendMany(store, 10);
    await rebuild(store, [counter]);
    await append(store, "s-1", added(1));
    await followOnce(storage, store, [counter]);
    expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: 11 }] });
    expect(databaseFiles(storage)).toEqual(["counter.1.1.db"]);
  });

  test("one that fails leaves the current one in place and doesn't hold up the others", async () => {
    const store = memoryEventStore();
    await appendMany(store, 10);
    await followOnce(storage, store, [brittle, counter]);
    await append(store, "bad-1", added(1, "break"));
    const [failed, built] = await rebuild(store, [brittle, counter]);
    expect(failed).toMatchObject({
      outcome: "failed",
      reason: "projection brittle stopped at Added, stream bad-1, revision 0: Error",
    });
    expect(built?.outcome).toBe("current");
    expect(currentFile(storage, "brittle")).toBe("brittle.1.1.db");
    expect(databaseFiles(storage)).toEqual(["brittle.1.1.db", "counter.1.4.db"]);
  });

  test("leftovers of a dead builder are removed, the file of a live one is not", async () => {
    const store = memoryEventStore();
    const catalog = openCatalog(storage.databases, storage.directory);
    const dead = catalog.create("counter", 1, ({ file }) =>
      storage.databases.open(join(storage.directory, file), "build").close(),
    );
    let close = () => {};
    const live = catalog.create("counter", 1, ({ file }) => {
      const db = storage.databases.open(join(storage.directory, file), "build");
      db.run("CREATE TABLE anything (one INTEGER)");
      close = () => db.close();
    });
    catalog.close();
    await rebuild(store, [counter]);
    expect(databaseFiles(storage)).toEqual([live.file, "counter.1.3.db"]);
    close();
    await followOnce(storage, store, [counter]);
    expect(databaseFiles(storage)).toEqual(["counter.1.3.db"]);
    expect(dead.file).toBe("counter.1.1.db");
  });
});

describe("beside a running service", () => {
  test("readers switch without going back while events keep coming, and the old file is removed", async () => {
    const store = memoryEventStore({ batchEventsMax: 50 });
    await appendMany(store, 3_000);
    const following = follow(storage, store, [tally, counter]);
    await following.caughtUp();
    const reader = following.readers.reader("counter");
    const counts: number[] = [];
    let isDone = false;
    const read = async () => {
      while (!isDone) {
        counts.push(Number(reader.get("SELECT count FROM counter")?.count));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const write = async () => {
      for (let index = 0; !isDone; index += 1) {
        await append(store, `s-${index % 10}`, added(index));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const busy = [read(), write()];
    const results = await rebuild(store, [counter, tally], { owner: false });
    expect(results.map(({ outcome }) => outcome)).toEqual(["current", "current"]);
    await until(() => databaseFiles(storage).length === 2, "the old files to be removed");
    isDone = true;
    await Promise.all(busy);
    await following.caughtUp();
    const total = Number(reader.get("SELECT count FROM counter")?.count);
    await following.stop();
    expect(databaseFiles(storage)).toEqual(["counter.1.3.db", "tally.1.4.db"]);
    expect(counts).toEqual(counts.toSorted((a, b) => a - b));
    expect(counts[0]).toBeGreaterThanOrEqual(3_000);
    expect(following.events.filter(({ type }) => type === "switched")).toHaveLength(2);
    expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: total }] });
    expect(rowsOf(storage, tally)).toEqual(await foldTally(store));
  });

  test("a switch that finds the catalog locked leaves no file open", async () => {
    const store = memoryEventStore();
    await appendMany(store, 10);
    let isLocked = false;
    const opened: string[] = [];
    const databases: ReadDatabases = {
      ...storage.databases,
      open(path, mode) {
        const db = storage.databases.open(path, mode);
        if (mode === "write") opened.push(basename(path));
        if (!path.endsWith("catalog.db")) return db;
        const begin = () => {
          if (!isLocked) return db.begin();
          isLocked = false;
          throw new ReadDatabaseError("unavailable", "database is locked");
        };
        return { ...db, begin };
      },
    };
    const following = follow({ ...storage, databases }, store, [counter, tally]);
    await following.caughtUp();
    isLocked = true;
    const results = await rebuild(store, [counter, tally], { owner: false });
    await following.stop();
    expect(results.map(({ outcome }) => outcome)).toEqual(["current", "current"]);
    // Only the generation that could not be switched to is closed and reopened.
    expect(opened.filter((file) => file === "counter.1.3.db" || file === "tally.1.4.db")).toHaveLength(3);
  });

  test("an old file stays until its last reader closes it", async () => {
    const store = memoryEventStore();
    await appendMany(store, 10);
    const following = follow(storage, store, [counter]);
    await following.caughtUp();
    const otherReader = storage.databases.open(join(storage.directory, "counter.1.1.db"), "read");
    otherReader.beginSnapshot();
    await rebuild(store, [counter], { owner: false });
    expect(databaseFiles(storage)).toEqual(["counter.1.1.db", "counter.1.2.db"]);
    expect(otherReader.get("SELECT count FROM counter")).toEqual({ count: 10 });
    otherReader.close();
    await until(() => databaseFiles(storage).length === 1, "the old file to be removed");
    await following.stop();
  });

  test("without a service a generation stays ready, and the next service takes it over", async () => {
    const store = memoryEventStore();
    await appendMany(store, 10);
    await followOnce(storage, store, [counter]);
    const [result] = await rebuild(store, [counter], { owner: false, switchWaitMsMax: 1 });
    expect(result?.outcome).toBe("ready");
    const following = follow(storage, store, [counter]);
    await until(() => currentFile(storage, "counter") === "counter.1.2.db", "the switch");
    await until(() => databaseFiles(storage).length === 1, "the old file to be removed");
    await following.stop();
    expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: 10 }] });
  });

  test("succeeds where the service switches on to a rebuild that began earlier and ended later", async () => {
    const store = memoryEventStore();
    await appendMany(store, 10);
    await followOnce(storage, store, [counter]);
    using catalog = openCatalog(storage.databases, storage.directory);
    const earlier = createGeneration(storage, catalog, counter, "build");
    const rebuilt = rebuild(store, [counter], { owner: false });
    const ready = () => catalog.generations().find(({ status }) => status === "ready");
    await until(() => ready() !== undefined, "the later rebuild to be ready");
    const later = ready();
    if (later === undefined) throw new Error("it is ready");
    // What the service does, between two looks of the rebuild at the catalog.
    catalog.makeCurrent(later);
    catalog.makeReady(earlier.entry, () => earlier.db.publish());
    catalog.makeCurrent(earlier.entry);
    expect(await rebuilt).toMatchObject([{ file: later.file, outcome: "current" }]);
  });

  test("fails where the service refuses it, although another rebuild was switched to just before", async () => {
    const store = memoryEventStore();
    await appendMany(store, 10);
    await followOnce(storage, store, [counter]);
    using catalog = openCatalog(storage.databases, storage.directory);
    const other = createGeneration(storage, catalog, counter, "build");
    catalog.makeReady(other.entry, () => other.db.publish());
    const switchToOther = () => void catalog.makeCurrent(other.entry);
    // The rebuild's transactions on the catalog: it adds its entry, and then marks it ready.
    const beforeEach = [() => {}, switchToOther];
    const databases: ReadDatabases = {
      ...storage.databases,
      open(path, mode) {
        const opened = storage.databases.open(path, mode);
        if (!path.endsWith("catalog.db")) return opened;
        const begin = () => {
          beforeEach.shift()?.();
          opened.begin();
        };
        return { ...opened, begin };
      },
    };
    const rebuilt = rebuildReadModels({
      ...{ ...storage, databases, store, projections: [counter], owner: false },
      signal: new AbortController().signal,
    });
    // What the service does with a generation that it cannot use.
    const refused = () => {
      const ready = catalog
        .generations()
        .find((one) => one.number > other.entry.number && one.status === "ready");
      return ready !== undefined && catalog.remove(ready);
    };
    await until(refused, "the generation to be ready");
    expect(await rebuilt).toMatchObject([{ outcome: "failed" }]);
    other.db.close();
  });

  test("a generation that becomes ready while the service asks for the head is taken over", async () => {
    const store = memoryEventStore();
    await appendMany(store, 10);
    const duringHead: { next?: () => Promise<unknown> } = {};
    const watched: EventStore = {
      ...store,
      async head() {
        const head = await store.head();
        const act = duringHead.next;
        delete duringHead.next;
        await act?.();
        return head;
      },
    };
    const following = follow(storage, watched, [counter]);
    await following.caughtUp();
    const laterRebuild = async () => {
      await append(store, "s-1", added(1));
      return rebuild(store, [counter], { owner: false, switchWaitMsMax: 1 });
    };
    duringHead.next = laterRebuild;
    await laterRebuild();
    await until(() => currentFile(storage, "counter") === "counter.1.3.db", "the second switch");
    await following.stop();
    expect(following.events).not.toContainEqual(expect.objectContaining({ type: "discarded" }));

    duringHead.next = laterRebuild;
    const laterEvents = await followOnce(storage, watched, [counter]);
    await followOnce(storage, store, [counter]);
    expect(laterEvents).not.toContainEqual({ type: "logCutShort" });
    expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: 13 }] });
  });

  test("a generation published while the service removes dead builds stays and is taken over", async () => {
    const store = memoryEventStore();
    await appendMany(store, 10);
    await followOnce(storage, store, [counter]);
    using builder = openCatalog(storage.databases, storage.directory);
    const { entry, db, checkpoint } = createGeneration(storage, builder, counter, "build");
    for await (const _ of feedToHead(store, [createApplier(counter, db, checkpoint)]));
    let publish = () => void builder.makeReady(entry, () => db.publish());
    const databases: ReadDatabases = {
      ...storage.databases,
      open(path, mode) {
        const opened = storage.databases.open(path, mode);
        if (!path.endsWith("catalog.db")) return opened;
        const begin = () => {
          publish();
          publish = () => {};
          opened.begin();
        };
        return { ...opened, begin };
      },
    };
    const following = follow({ ...storage, databases }, store, [counter]);
    await until(() => currentFile(storage, "counter") === entry.file, "the switch");
    await following.stop();
    expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: 10 }] });
  });

  test("a generation for a later version waits for the program of that version", async () => {
    const store = memoryEventStore();
    await appendMany(store, 10);
    const later: Projection = { ...counter, version: 2 };
    const following = follow(storage, store, [counter]);
    await following.caughtUp();
    const [result] = await rebuild(store, [later], { owner: false, switchWaitMsMax: 1 });
    expect(result?.outcome).toBe("ready");
    await following.stop();
    const events = await followOnce(storage, store, [later]);
    expect(events[0]).toMatchObject({
      type: "switched",
      file: "counter.2.2.db",
      position: await store.head(),
    });
    expect(databaseFiles(storage)).toEqual(["counter.2.2.db"]);
  });

  test("a stopped projection recovers with a generation that could be built", async () => {
    const store = memoryEventStore();
    await append(store, "bad-1", added(1, "break"));
    const following = follow(storage, store, [brittle]);
    await until(() => following.readers.status()[0]?.state === "failed", "the failure");
    await rebuild(store, [{ ...brittle, apply: counter.apply }], { owner: false });
    await until(() => following.readers.status()[0]?.state === "live", "the recovery");
    expect(following.readers.reader("brittle").get("SELECT count FROM counter")).toEqual({ count: 1 });
    await following.stop();
  });

  test("a generation built from another log is discarded", async () => {
    const store = memoryEventStore();
    await appendMany(store, 10);
    const following = follow(storage, store, [counter]);
    await following.caughtUp();
    const ofOtherLog = { owner: false, logId: "log-2" };
    const [result] = await rebuild(store, [counter], ofOtherLog);
    expect(result?.outcome).toBe("failed");
    await until(() => databaseFiles(storage).length === 1, "the foreign file to be removed");
    expect(currentFile(storage, "counter")).toBe("counter.1.1.db");
    await following.stop();
  });
});

test("the current generation is found even when a rebuild switches between lookup and open", async () => {
  const store = memoryEventStore();
  await appendMany(store, 10);
  await followOnce(storage, store, [counter]);
  await rebuild(store, [counter], { owner: false, switchWaitMsMax: 1 });
  using catalog = openCatalog(storage.databases, storage.directory);
  const [ready, before] = catalog.generations();
  if (!ready || !before) throw new Error("expected two");
  const databases: ReadDatabases = {
    ...storage.databases,
    open(path, mode) {
      if (path.endsWith(before.file)) {
        catalog.makeCurrent(ready);
        catalog.remove(before);
      }
      return storage.databases.open(path, mode);
    },
  };
  const opened = openCurrentToRead({ ...storage, databases }, catalog, "counter");
  expect(opened?.entry.file).toBe(ready.file);
  expect(opened?.db.get("SELECT count FROM counter")).toEqual({ count: 10 });
  opened?.db.close();
});

describe("the list", () => {
  test("gives the state of each read model", async () => {
    const store = memoryEventStore();
    const options = { ...storage, store, projections: [tally, counter, brittle] };
    expect((await listReadModels(options)).map(({ status }) => status)).toEqual([
      "absent",
      "absent",
      "absent",
    ]);
    await appendMany(store, 10);
    await followOnce(storage, store, [tally, brittle]);
    await append(store, "bad-1", added(1, "break"));
    const following = follow(storage, store, [tally, brittle]);
    await until(() => following.readers.status()[1]?.state === "failed", "the failure");
    await following.readers.waitForPosition("tally", await store.head(), 5_000);
    const [first, second, third] = await listReadModels(options);
    expect(first).toMatchObject({
      name: "tally",
      status: "current",
      isAtHead: true,
      rows: 22,
      failure: null,
    });
    expect(second).toMatchObject({ name: "counter", status: "absent", rows: null, checkpoint: null });
    expect(third).toMatchObject({ name: "brittle", status: "failed", isAtHead: false, rows: 1 });
    expect(third?.failure).toContain("stream bad-1, revision 0");
    await following.stop();
  });
});
