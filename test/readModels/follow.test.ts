import { afterEach, beforeEach, describe, expect, setSystemTime, test } from "bun:test";
import { cpSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import type { Projection } from "../../projections/projection.ts";
import { HOUR_MS } from "../../src/kernel/time.ts";
import { type EventStore, LOG_START, type Position, StoreError } from "../../src/ports/eventStore.ts";
import {
  ReadDatabaseError,
  type ReadDatabaseFailure,
  type ReadDatabaseFile,
  type ReadDatabases,
} from "../../src/ports/readDatabase.ts";
import {
  deliver,
  type FollowMessage,
  followRelay,
} from "../../src/readModels/follow/followerThreadMessages.ts";
import { rebuildReadModels } from "../../src/readModels/rebuildReadModels.ts";
import { overwriteDatabase } from "../support/files/overwriteDatabase.ts";
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
  erased,
  foldTally,
  follow,
  followOnce,
  newStorage,
  other,
  rowsOf,
  tally,
  unsynced,
} from "./followFixtures.ts";

let storage: ReturnType<typeof newStorage>;
beforeEach(() => {
  storage = newStorage();
});
afterEach(() => storage.remove());

describe("following", () => {
  test("brings empty read models to the head, then keeps them there", async () => {
    const store = memoryEventStore();
    await appendMany(store, 25);
    const following = follow(storage, store, [tally, counter]);
    await following.caughtUp();
    expect(following.readers.reader("counter").get("SELECT count FROM counter")).toEqual({ count: 25 });
    await append(store, "s-1", added(1), other());
    expect(await following.readers.waitForPosition("counter", await store.head(), 5_000)).toBe(true);
    expect(following.readers.reader("counter").get("SELECT count FROM counter")).toEqual({ count: 27 });
    await following.stop();
    expect(rowsOf(storage, tally)).toEqual(await foldTally(store));
  });

  test("an empty log is caught up at once", async () => {
    const store = memoryEventStore();
    const events = await followOnce(storage, store, [tally]);
    expect(events).toContainEqual({
      type: "progress",
      position: LOG_START,
      caughtUp: true,
      hasWatchedEvent: false,
    });
  });

  test("tells once that an event of a watched type has come, with the position of its rows", async () => {
    const store = memoryEventStore();
    await append(store, "s-1", added(1));
    const following = follow(storage, store, [tally, counter], [added(1).type]);
    await following.caughtUp();
    const watched = () =>
      following.events.filter((event) => event.type === "progress" && event.hasWatchedEvent);
    const before = watched().length;
    for (const event of [other(), added(2), other()]) {
      await append(store, `s-${event.type}-${Math.random()}`, event);
      await following.caughtUp();
    }
    expect(watched().slice(before)).toMatchObject([{ position: expect.any(String), hasWatchedEvent: true }]);
    await following.stop();
  });

  test("resumes from the checkpoint without a gap or a repeat", async () => {
    const store = memoryEventStore();
    await appendMany(store, 30);
    await followOnce(storage, store, [tally]);
    await appendMany(store, 30);
    const seen: string[] = [];
    const watched: Projection = {
      ...tally,
      apply(event, db) {
        seen.push(event.id);
        tally.apply(event, db);
      },
    };
    await followOnce(storage, store, [watched]);
    expect(seen).toHaveLength(30);
    expect(rowsOf(storage, tally)).toEqual(await foldTally(store));
  });

  test.each([1, 17, 40, 77])(
    "a crash while event %i is being applied loses and repeats nothing",
    async (at) => {
      const store = memoryEventStore({ batchEventsMax: 10 });
      await appendMany(store, 40);
      await followOnce(storage, store, [tally, counter]);
      await appendMany(store, 80);
      // A copy of the files in the middle of a transaction is what a crash at this moment leaves behind.
      const crashed = newStorage();
      let applied = 0;
      const crashing: Projection = {
        ...tally,
        apply(event, db) {
          applied += 1;
          tally.apply(event, db);
          if (applied === at) cpSync(storage.directory, crashed.directory, { recursive: true });
        },
      };
      await followOnce(storage, store, [crashing, counter]);
      expect(applied).toBe(80);
      await followOnce(crashed, store, [tally, counter]);
      expect(rowsOf(crashed, tally)).toEqual(await foldTally(store));
      expect(rowsOf(crashed, counter)).toEqual({ counter: [{ one: 1, count: 120 }] });
      crashed.remove();
    },
  );

  test("truncated events are skipped", async () => {
    const store = memoryEventStore();
    await append(store, "s-1", added(1), added(2), erased(), added(3));
    await store.truncateBefore("s-1", 2);
    await followOnce(storage, store, [tally]);
    expect(rowsOf(storage, tally)).toEqual({
      tally: [{ stream: "s-1", count: 1, sum: 3 }],
      notes: [{ stream: "s-1", revision: 3, note: "note 3" }],
    });
  });

  test("a projection whose events are rare still moves its checkpoint", async () => {
    const store = memoryEventStore();
    const rare: Projection = { ...counter, name: "rare", events: ["Erased"] };
    const following = follow(storage, store, [counter, rare]);
    await appendMany(store, 5);
    await following.caughtUp();
    const head = await store.head();
    const path = join(storage.directory, currentFile(storage, "rare"));
    await until(() => {
      const db = storage.databases.open(path, "read");
      const checkpoint = db.get("SELECT checkpoint FROM meta")?.checkpoint;
      db.close();
      return checkpoint === head;
    }, "the checkpoint of a projection without events");
    await following.stop();
  });

  test("following survives the store going away in the middle of the log", async () => {
    let isUnavailable = false;
    let calls = 0;
    const store = memoryEventStore({
      batchEventsMax: 10,
      isUnavailable() {
        if (isUnavailable) calls += 1;
        return isUnavailable;
      },
    });
    await appendMany(store, 40);
    let applied = 0;
    const watched: Projection = {
      ...counter,
      apply(event, db) {
        counter.apply(event, db);
        applied += 1;
        if (applied === 15) isUnavailable = true;
      },
    };
    const following = follow(storage, store, [watched]);
    await until(() => calls > 3, "the follower to notice that the store is unavailable");
    isUnavailable = false;
    await following.caughtUp();
    expect(following.readers.reader("counter").get("SELECT count FROM counter")).toEqual({ count: 40 });
    await following.stop();
  });
});

describe("a file that following cannot continue from is replaced and removed", () => {
  test("made from another log", async () => {
    const first = memoryEventStore();
    await appendMany(first, 12);
    await followOnce(storage, first, [counter]);
    const second = memoryEventStore();
    await appendMany(second, 20);
    await followOnce({ ...storage, logId: "log-2" }, second, [counter]);
    expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: 20 }] });
    expect(databaseFiles(storage)).toEqual(["counter.1.2.db"]);
  });

  test("with a checkpoint past the head of the log", async () => {
    const before = memoryEventStore();
    await appendMany(before, 12);
    await followOnce(storage, before, [counter]);
    const restored = memoryEventStore();
    await appendMany(restored, 7);
    expect(await followOnce(storage, restored, [counter])).toContainEqual({ type: "logCutShort" });
    expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: 7 }] });
    expect(databaseFiles(storage)).toEqual(["counter.1.2.db"]);
    expect(await followOnce(storage, restored, [counter])).not.toContainEqual({ type: "logCutShort" });
  });

  test("whose last event is gone from a log that has grown past its checkpoint", async () => {
    const [lost, restored] = [memoryEventStore(), memoryEventStore()];
    const shared = Array.from({ length: 7 }, (_, index) => added(index));
    for (const store of [lost, restored]) await append(store, "s-1", ...shared);
    await append(lost, "s-1", other());
    await followOnce(storage, lost, [counter, tally]);
    await append(restored, "s-1", added(1));
    await append(restored, "s-2", added(2), added(3));
    expect(await followOnce(storage, restored, [counter, tally])).toContainEqual({ type: "logCutShort" });
    expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: 10 }] });
    expect(rowsOf(storage, tally).tally).toHaveLength(2);
    expect(await followOnce(storage, restored, [counter])).not.toContainEqual({ type: "logCutShort" });
  });

  test("but not one whose last event was erased", async () => {
    const store = memoryEventStore();
    await appendMany(store, 9);
    await append(store, "s-9", added(1), erased());
    await followOnce(storage, store, [tally]);
    await store.truncateBefore("s-9", 2);
    expect(await followOnce(storage, store, [tally])).not.toContainEqual({ type: "logCutShort" });
    expect(databaseFiles(storage)).toEqual(["tally.1.1.db"]);
  });

  test.each([
    "UPDATE meta SET last_event = '{'",
    "UPDATE meta SET last_event = '7'",
    `UPDATE meta SET last_event = '{"stream":"s-1"}'`,
    "ALTER TABLE meta DROP COLUMN last_event",
  ])("whose last event cannot be read: %s", async (change) => {
    const store = memoryEventStore();
    await appendMany(store, 9);
    await followOnce(storage, store, [tally]);
    const db = unsynced.open(join(storage.directory, "tally.1.1.db"), "write");
    db.run(change);
    db.close();
    await followOnce(storage, store, [tally]);
    expect(rowsOf(storage, tally).notes).toHaveLength(9);
    expect(databaseFiles(storage)).toEqual(["tally.1.2.db"]);
  });

  test("of another version, while the others stay as they are", async () => {
    const store = memoryEventStore();
    await appendMany(store, 12);
    await followOnce(storage, store, [counter, tally]);
    const next: Projection = { ...counter, version: 2, events: ["Erased"] };
    await append(store, "s-1", erased());
    await followOnce(storage, store, [next, tally]);
    expect(rowsOf(storage, next)).toEqual({ counter: [{ one: 1, count: 1 }] });
    expect(databaseFiles(storage)).toEqual(["counter.2.3.db", "tally.1.2.db"]);
  });

  test("that is not a database", async () => {
    const store = memoryEventStore();
    await appendMany(store, 12);
    await followOnce(storage, store, [counter]);
    for (const ending of ["", "-wal"]) {
      await Bun.write(join(storage.directory, `counter.1.1.db${ending}`), "x".repeat(10_000));
    }
    await followOnce(storage, store, [counter]);
    expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: 12 }] });
    expect(databaseFiles(storage)).toEqual(["counter.1.2.db"]);
  });

  test("of a projection that this program does not have", async () => {
    const store = memoryEventStore();
    await followOnce(storage, store, [counter, tally]);
    await followOnce(storage, store, [tally]);
    expect(databaseFiles(storage)).toEqual(["tally.1.2.db"]);
  });

  test("after the catalog was lost, without adopting the files found there", async () => {
    const store = memoryEventStore();
    await appendMany(store, 12);
    await followOnce(storage, store, [counter]);
    await Bun.file(join(storage.directory, "catalog.db")).delete();
    await followOnce(storage, store, [counter]);
    expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: 12 }] });
    expect(databaseFiles(storage)).toEqual(["counter.1.2.db"]);
  });

  test.each([0, 4_096])(
    "after the catalog was damaged from byte %i on, which is reported",
    async (offset) => {
      const store = memoryEventStore();
      await appendMany(store, 12);
      await followOnce(storage, store, [counter]);
      overwriteDatabase(join(storage.directory, "catalog.db"), offset);
      const events = await followOnce(storage, store, [counter]);
      expect(events[0]).toMatchObject({ type: "renewed" });
      expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: 12 }] });
      expect(databaseFiles(storage)).toEqual(["counter.1.2.db"]);
      expect((await followOnce(storage, store, [counter]))[0]).toMatchObject({ type: "opened" });
    },
  );
});

describe("a projection that fails", () => {
  test("stops alone, and reports where but none of the data", async () => {
    const store = memoryEventStore();
    await appendMany(store, 5);
    await append(store, "bad-1", added(1), added(2, "break"));
    await appendMany(store, 5);
    const following = follow(storage, store, [brittle, counter]);
    await until(() => following.readers.status().some(({ state }) => state === "failed"));
    await append(store, "s-1", added(1));
    await following.readers.waitForPosition("counter", await store.head(), 5_000);
    const [status] = following.readers.status();
    expect(status?.failure).toBe("projection brittle stopped at Added, stream bad-1, revision 1: Error");
    expect(status?.isCaughtUp).toBe(false);
    expect(following.readers.reader("counter").get("SELECT count FROM counter")).toEqual({ count: 13 });
    await following.stop();
    expect(JSON.stringify(following.events)).not.toContain("secret");
    // What was applied in the same transaction before the failure is not in the rows, nor in the checkpoint.
    expect(rowsOf(storage, brittle)).toEqual({ counter: [] });
  });

  test("continues where it stopped once it is fixed", async () => {
    const store = memoryEventStore({ batchEventsMax: 3 });
    await appendMany(store, 9);
    await followOnce(storage, store, [brittle, counter]);
    await append(store, "bad-1", added(2, "break"));
    const following = follow(storage, store, [brittle, counter]);
    await until(() => following.readers.status().some(({ state }) => state === "failed"));
    await appendMany(store, 20);
    await following.stop();
    const fixed: Projection = { ...brittle, apply: counter.apply };
    const events = await followOnce(storage, store, [fixed, counter]);
    expect(rowsOf(storage, fixed)).toEqual({ counter: [{ one: 1, count: 30 }] });
    expect(events.filter(({ type }) => type === "joined")).toHaveLength(2);
  });
});

describe("a database that fails", () => {
  /** The databases of the test's place; the commits of read models fail while `isFailing` says how. */
  function failing(isFailing: () => ReadDatabaseFailure | undefined): ReadDatabases {
    const commitOf = (db: ReadDatabaseFile, path: string) => () => {
      const failure = path.endsWith("catalog.db") ? undefined : isFailing();
      if (failure) throw new ReadDatabaseError(failure, "database or disk is full");
      db.commit();
    };
    return {
      ...storage.databases,
      open(path, mode) {
        const db = storage.databases.open(path, mode);
        return { ...db, commit: commitOf(db, path) };
      },
    };
  }

  test.each(["unavailable", "damaged"] as const)("as %s is tried again until it works", async (failure) => {
    const store = memoryEventStore();
    let current: ReadDatabaseFailure | undefined;
    const following = follow({ ...storage, databases: failing(() => current) }, store, [counter, tally]);
    await appendMany(store, 10);
    await following.caughtUp();
    current = failure;
    await appendMany(store, 10);
    await until(() => following.readers.status().some(({ state }) => state === "failed"), "the failure");
    // The next try is so and so much later, whatever the time of day is meanwhile.
    setSystemTime(new Date(Date.now() - HOUR_MS));
    current = undefined;
    await following.caughtUp().finally(() => setSystemTime());
    expect(following.events).toContainEqual({
      type: "failed",
      name: "counter",
      reason: "projection counter stopped at a commit: ReadDatabaseError: database or disk is full",
      retrying: true,
    });
    await following.stop();
    // How many new files fail like the first one depends on timing.
    expect(currentFile(storage, "counter") === "counter.1.1.db").toBe(failure !== "damaged");
    expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: 20 }] });
    expect(rowsOf(storage, tally)).toEqual(await foldTally(store));
    await followOnce(storage, store, [counter, tally]);
    expect(databaseFiles(storage)).toHaveLength(2);
  });

  test("as damaged only for readers is rebuilt as soon as one of them reads it", async () => {
    const store = memoryEventStore();
    await appendMany(store, 12);
    const open: ReadDatabases["open"] = (path, mode) => {
      const db = storage.databases.open(path, mode);
      if (mode !== "read" || !path.endsWith("counter.1.1.db")) return db;
      const get = () => {
        throw new ReadDatabaseError("damaged", "database disk image is malformed");
      };
      return { ...db, get };
    };
    const following = follow({ ...storage, databases: { ...storage.databases, open } }, store, [counter]);
    await following.caughtUp();
    const reader = following.readers.reader("counter");
    const count = () => reader.get("SELECT count FROM counter");
    expect(count).toThrow("malformed");
    await until(() => currentFile(storage, "counter") === "counter.1.2.db", "a new file");
    await following.caughtUp();
    expect(count()).toEqual({ count: 12 });
    expect(following.events).toContainEqual({
      type: "failed",
      name: "counter",
      reason: "projection counter was found damaged by its readers",
      retrying: true,
    });
    await following.stop();
  });

  test("as damaged while its rebuilt successor catches up leaves the successor opened once", async () => {
    const store = memoryEventStore();
    await appendMany(store, 10);
    let opened = 0;
    const open: ReadDatabases["open"] = (path, mode) => {
      const db = storage.databases.open(path, mode);
      if (mode === "write" && path.endsWith("counter.1.2.db")) opened += 1;
      if (mode !== "read" || !path.endsWith("counter.1.1.db")) return db;
      const get = () => {
        throw new ReadDatabaseError("damaged", "database disk image is malformed");
      };
      return { ...db, get };
    };
    let refusals = 0;
    let isReadable = true;
    const watched: EventStore = {
      ...store,
      readAll(...call) {
        if (isReadable) return store.readAll(...call);
        refusals += 1;
        throw new StoreError("unavailable", "the store is unavailable");
      },
    };
    const following = follow({ ...storage, databases: { ...storage.databases, open } }, watched, [counter]);
    await following.caughtUp();
    isReadable = false;
    const { signal } = new AbortController();
    const options = { ...storage, store, projections: [counter], owner: false, switchWaitMsMax: 1, signal };
    await rebuildReadModels(options);
    await until(() => refusals > 0, "the rebuilt read model to catch up");
    const reader = following.readers.reader("counter");
    expect(() => reader.get("SELECT count FROM counter")).toThrow("malformed");
    await until(() => following.events.some(({ type }) => type === "failed"), "the failure");
    const refusedBefore = refusals;
    await until(() => refusals > refusedBefore + 1, "more attempts");
    isReadable = true;
    await until(() => currentFile(storage, "counter") === "counter.1.2.db", "the switch");
    await appendMany(store, 5);
    await following.caughtUp();
    expect(reader.get("SELECT count FROM counter")).toEqual({ count: 15 });
    expect(opened).toBe(1);
    await following.stop();
  });

  test("as damaged when it is the catalog ends the following", async () => {
    const store = memoryEventStore();
    let isDamaged = false;
    const open: ReadDatabases["open"] = (path, mode) => {
      const db = storage.databases.open(path, mode);
      if (!path.endsWith("catalog.db")) return db;
      const all: typeof db.all = (...query) => {
        if (isDamaged) throw new ReadDatabaseError("damaged", "database disk image is malformed");
        return db.all(...query);
      };
      return { ...db, all };
    };
    const following = follow({ ...storage, databases: { ...storage.databases, open } }, store, [counter]);
    await following.caughtUp();
    isDamaged = true;
    const other = storage.databases.open(join(storage.directory, "catalog.db"), "write");
    other.run("UPDATE generations SET failure = 'changed'");
    other.close();
    await expect(following.ended).rejects.toThrow("database disk image is malformed");
    following.readers.close();
  });
});

test("an error that a listener throws is not swallowed", async () => {
  const store = memoryEventStore();
  const following = follow(storage, store, [tally]);
  following.readers.receive = () => {
    throw new Error("thrown by the listener");
  };
  await until(() => following.events.length > 0);
  expect(following.stop()).rejects.toThrow("listener");
});

test("events cross a message channel, and only a switch waits for its answer", async () => {
  const posted: FollowMessage[] = [];
  const relay = followRelay((message) => posted.push(structuredClone(message)));
  await relay.onEvent({ type: "progress", position: LOG_START, caughtUp: true, hasWatchedEvent: false });
  const outcomes: string[] = [];
  const switched = { type: "switched", name: "tally", file: "tally.1.2.db", position: LOG_START } as const;
  const answer = Promise.resolve(relay.onEvent(switched)).then(() => outcomes.push("follower"));
  for (const message of posted) {
    await deliver(
      message,
      (event) => void outcomes.push(event.type),
      (reply) => relay.receive(reply),
    );
  }
  await answer;
  expect(outcomes).toEqual(["progress", "switched", "follower"]);
});

describe("waiting for rows", () => {
  test("ends when the rows are there, when time is up, when the caller stops, and when the readers close", async () => {
    const store = memoryEventStore();
    const following = follow(storage, store, [counter]);
    const { readers } = following;
    const isOpen = readers.waitUntilOpen("counter", 60_000);
    await appendMany(store, 3);
    expect(await isOpen).toBe(true);
    expect(await readers.waitForPosition("counter", await store.head(), 60_000)).toBe(true);
    const never = "\uffff" as Position;
    expect(await readers.waitForPosition("counter", never, 1)).toBe(false);
    const stopping = new AbortController();
    const stopped = readers.waitForPosition("counter", never, 60_000, stopping.signal);
    stopping.abort();
    expect(await stopped).toBe(false);
    expect(await readers.waitForPosition("counter", never, 60_000, stopping.signal)).toBe(false);
    const waiting = readers.waitForPosition("counter", never, 60_000);
    await following.stop();
    expect(await waiting).toBe(false);
  });

  test("a read model that is not open yet is unavailable, not empty", async () => {
    const store = memoryEventStore();
    const following = follow(storage, store, [counter]);
    const reader = following.readers.reader("counter");
    expect(() => reader.get("SELECT 1")).toThrow("has not been opened yet");
    await following.caughtUp();
    expect(reader.get("SELECT 1 AS one")).toEqual({ one: 1 });
    await following.stop();
  });
});

/** Time for the property below, which opens some sixty files, on shared cores. */
const PROPERTY_MS_MAX = 120_000;

test(
  "whatever the log and wherever the follower is stopped, the rows are the fold of the log",
  async () => {
    const change = fc.oneof(
      {
        weight: 6,
        arbitrary: fc.record({
          kind: fc.constant("added" as const),
          amount: fc.integer({ min: -9, max: 9 }),
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("erased" as const), amount: fc.constant(0) }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("other" as const), amount: fc.constant(0) }) },
    );
    const eventOf = { added: (amount: number) => added(amount), erased, other };
    const step = fc.record({ stream: fc.constantFrom("s-a", "s-é", "s-😀", "s-z"), change });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(step, { maxLength: 30 }), { minLength: 1, maxLength: 4 }),
        fc.integer({ min: 1, max: 8 }),
        async (runs, batchEventsMax) => {
          const own = newStorage();
          const store = memoryEventStore({ batchEventsMax });
          for (const steps of runs) {
            for (const { stream, change } of steps) {
              await append(store, stream, eventOf[change.kind](change.amount));
            }
            await followOnce(own, store, [tally, counter]);
          }
          const expected = await foldTally(store);
          const bySqliteOrder = (a: { stream?: unknown }, b: { stream?: unknown }) =>
            Buffer.compare(Buffer.from(String(a.stream)), Buffer.from(String(b.stream)));
          expect(rowsOf(own, tally)).toEqual({
            tally: [...(expected.tally ?? [])].sort(bySqliteOrder),
            notes: [...(expected.notes ?? [])].sort(bySqliteOrder),
          });
          own.remove();
        },
      ),
      { numRuns: 25 },
    );
  },
  PROPERTY_MS_MAX,
);
