import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { cpSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import type { Projection } from "../../projections/projection.ts";
import { DAY_MS } from "../../src/kernel/time.ts";
import type { EventStore } from "../../src/ports/eventStore.ts";
import { ReadDatabaseError, type ReadDatabases } from "../../src/ports/readDatabase.ts";
import { openCatalog } from "../../src/readModels/generations/generationCatalog.ts";
import { createGeneration } from "../../src/readModels/generations/generationFiles.ts";
import type { ReadingProgress } from "../../src/readModels/logReadProgress.ts";
import { type RebuildOptions, rebuildReadModels } from "../../src/readModels/rebuildReadModels.ts";
import { memoryEventStore } from "../support/stores/memoryEventStore.ts";
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
  followOnce,
  newStorage,
  rowsOf,
  tally,
} from "./followFixtures.ts";

type Storage = ReturnType<typeof newStorage>;

let storage: Storage;
beforeEach(() => {
  storage = newStorage();
});
afterEach(() => storage.remove());

interface Rebuilding extends Partial<RebuildOptions> {
  readonly at?: Storage;
}

function rebuild(
  store: EventStore,
  projections: Projection[],
  { at = storage, ...options }: Rebuilding = {},
) {
  const { signal } = new AbortController();
  return rebuildReadModels({ ...at, store, projections, owner: true, signal, saveEveryMs: 0, ...options });
}

/** Interrupts a rebuild after its first transaction. */
async function interrupted(store: EventStore, projections: Projection[], options: Rebuilding = {}) {
  const stopping = new AbortController();
  const onProgress = () => stopping.abort(new Error("stopped by the test"));
  const rebuilding = rebuild(store, projections, { onProgress, signal: stopping.signal, ...options });
  await expect(rebuilding).rejects.toThrow("stopped by the test");
}

function savedFiles(): string[] {
  return readdirSync(storage.directory).filter((file) => /\.sav/.test(file));
}

function setAge(file: string, ageMs: number): void {
  const then = (Date.now() - ageMs) / 1_000;
  utimesSync(join(storage.directory, file), then, then);
}

describe("an interrupted rebuild", () => {
  test("changes nothing for readers, and the next one resumes it", async () => {
    const store = memoryEventStore();
    await appendMany(store, 5_000);
    await followOnce(storage, store, [counter]);
    await interrupted(store, [tally, counter]);
    expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: 5_000 }] });
    expect(savedFiles()).toEqual(["counter.1.3.db.saved", "tally.1.2.db.saved"]);
    await append(store, "s-1", erased(), added(1));
    const progress: ReadingProgress[] = [];
    const results = await rebuild(store, [tally, counter], { onProgress: (p) => progress.push(p) });
    expect(results.map(({ file, outcome }) => [file, outcome])).toEqual([
      ["tally.1.2.db", "current"],
      ["counter.1.3.db", "current"],
    ]);
    const [{ resumedFrom } = { resumedFrom: null }] = results;
    expect(resumedFrom).not.toBeNull();
    expect(progress[0]?.from).toBe(resumedFrom as never);
    expect(progress.at(-1)?.events).toBeLessThan(3_100);
    expect(rowsOf(storage, tally)).toEqual(await foldTally(store));
    expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: 5_001 }] });
    expect(databaseFiles(storage)).toEqual(["counter.1.3.db", "tally.1.2.db"]);
    expect(savedFiles()).toEqual([]);
  });

  test("resumes from its saved file, whatever a kill left of the file being written", async () => {
    const store = memoryEventStore();
    await appendMany(store, 5_000);
    for (const content of ["", "SQLite format 3\0 and then nothing of the kind"]) {
      await interrupted(store, [tally]);
      const [file = ""] = savedFiles().map((saved) => saved.replace(".saved", ""));
      writeFileSync(join(storage.directory, file), content);
      const [result] = await rebuild(store, [tally]);
      expect(result).toMatchObject({ outcome: "current", file });
      expect(result?.resumedFrom).not.toBeNull();
      expect(rowsOf(storage, tally)).toEqual(await foldTally(store));
    }
  });

  test("resumes after the store was away, and beside a service", async () => {
    const store = memoryEventStore();
    await appendMany(store, 5_000);
    await followOnce(storage, store, [counter]);
    const failingStore: EventStore = {
      ...store,
      head: () => store.head(),
      async *readAll(...args: Parameters<EventStore["readAll"]>) {
        let events = 0;
        for await (const batch of store.readAll(...args)) {
          events += batch.events.length;
          if (events > 3_000) throw new Error("unavailable");
          yield batch;
        }
      },
    };
    await expect(rebuild(failingStore, [counter], { owner: false })).rejects.toThrow("unavailable");
    const [result] = await rebuild(store, [counter], { owner: false, switchWaitMsMax: 1 });
    expect(result).toMatchObject({ outcome: "ready", file: "counter.1.2.db" });
    expect(result?.resumedFrom).not.toBeNull();
    await followOnce(storage, store, [counter]);
    expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: 5_000 }] });
  });

  test("starts from scratch on request", async () => {
    const store = memoryEventStore();
    await appendMany(store, 5_000);
    await interrupted(store, [counter, tally]);
    const [result] = await rebuild(store, [counter], { fresh: true });
    expect(result).toMatchObject({ outcome: "current", resumedFrom: null });
    expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: 5_000 }] });
    expect(savedFiles()).toEqual(["tally.1.2.db.saved"]);
  });

  test("starts from scratch on a log that lost its end", async () => {
    const [store, shorter] = [memoryEventStore(), memoryEventStore()];
    await appendMany(store, 5_000);
    await appendMany(shorter, 10);
    await interrupted(store, [tally]);
    const [restored] = await rebuild(shorter, [tally]);
    expect(restored).toMatchObject({ outcome: "current", resumedFrom: null });
  });

  test("starts from scratch on another log, and for another version", async () => {
    const store = memoryEventStore();
    await appendMany(store, 5_000);
    await interrupted(store, [counter]);
    const [foreign] = await rebuild(store, [counter], { logId: "log-2", owner: false, switchWaitMsMax: 1 });
    expect(foreign?.resumedFrom).toBeNull();
    await interrupted(store, [brittle]);
    const [later] = await rebuild(store, [{ ...brittle, version: 2 }], { owner: false, switchWaitMsMax: 1 });
    expect(later?.resumedFrom).toBeNull();
    // The saved file of the other version waits for the program that can resume it.
    expect(savedFiles()).toHaveLength(1);
  });

  test("leaves no files when its projection failed", async () => {
    const store = memoryEventStore();
    await appendMany(store, 5_000);
    await append(store, "bad-1", added(1, "break"));
    const [failed] = await rebuild(store, [brittle]);
    expect(failed?.outcome).toBe("failed");
    expect([...savedFiles(), ...databaseFiles(storage)]).toEqual([]);
  });

  test("leaves no files when saving fails, which does not stop an uninterrupted rebuild", async () => {
    const store = memoryEventStore();
    await appendMany(store, 5_000);
    const databases: ReadDatabases = {
      ...storage.databases,
      open: (...args) => ({
        ...storage.databases.open(...args),
        save: () => Promise.reject(new ReadDatabaseError("unavailable", "database or disk is full")),
      }),
    };
    await interrupted(store, [tally], { databases });
    expect(databaseFiles(storage)).toEqual([]);
    const [built] = await rebuild(store, [tally], { databases });
    expect(built?.outcome).toBe("current");
    expect(rowsOf(storage, tally)).toEqual(await foldTally(store));
  });

  test("is not taken from a live builder", async () => {
    const store = memoryEventStore();
    await appendMany(store, 10);
    const catalog = openCatalog(storage.databases, storage.directory);
    const active = createGeneration(storage, catalog, counter, "build");
    await active.db.save();
    const [result] = await rebuild(store, [counter]);
    expect(result).toMatchObject({ resumedFrom: null, file: "counter.1.2.db" });
    expect(catalog.generations().map(({ status }) => status)).toEqual(["current", "building"]);
    active.db.close();
    catalog.close();
  });
});

describe("the saved file of an interrupted rebuild is kept", () => {
  test("for a day, by services that start meanwhile", async () => {
    const store = memoryEventStore();
    await appendMany(store, 5_000);
    await interrupted(store, [counter]);
    setAge("counter.1.1.db.saved", DAY_MS - 60_000);
    await followOnce(storage, store, [counter]);
    expect(savedFiles()).toEqual(["counter.1.1.db.saved"]);
    setAge("counter.1.1.db.saved", DAY_MS + 60_000);
    await followOnce(storage, store, [counter]);
    expect(savedFiles()).toEqual([]);
    expect(databaseFiles(storage)).toEqual([currentFile(storage, "counter")]);
  });

  test("only in its newest version for each read model", async () => {
    const store = memoryEventStore();
    await appendMany(store, 5_000);
    const catalog = openCatalog(storage.databases, storage.directory);
    const older = createGeneration(storage, catalog, counter, "build");
    await older.db.save();
    await interrupted(store, [counter]);
    older.db.close();
    catalog.close();
    expect(savedFiles()).toHaveLength(2);
    await followOnce(storage, store, [counter]);
    expect(savedFiles()).toEqual(["counter.1.2.db.saved"]);
  });

  test("never without its entry in the catalog", async () => {
    const store = memoryEventStore();
    await appendMany(store, 5_000);
    await interrupted(store, [counter]);
    for (const ending of ["", "-wal", "-shm"])
      rmSync(join(storage.directory, `catalog.db${ending}`), { force: true });
    await followOnce(storage, store, [counter]);
    expect(savedFiles()).toEqual([]);
  });
});

/** Copies the files as they are now, which is what a kill at this moment would leave on disk. */
function killed(from: Storage): Storage {
  const directory = mkdtempSync(join(tmpdir(), "read-models-killed-"));
  cpSync(from.directory, directory, { recursive: true });
  return { ...from, directory, remove: () => rmSync(directory, { recursive: true, force: true }) };
}

/** A projection during which, at its `count`th event, the process is killed. */
function killedAt(projection: Projection, count: number, kill: () => void): Projection {
  let events = 0;
  return {
    ...projection,
    apply(event, db) {
      events += 1;
      if (events === count) kill();
      if (events >= count) throw new Error("killed by the test");
      projection.apply(event, db);
    },
  };
}

test("however often a rebuild is killed, and wherever, its rows are the fold of the log", async () => {
  const store = memoryEventStore({ batchEventsMax: 700 });
  for (let index = 0; index < 7_000; index += 1) {
    await append(store, `s-${index % 40}`, index % 97 === 0 ? erased() : added(index));
  }
  const expected = await foldTally(store);
  let resumed = 0;
  const kills = fc.array(fc.integer({ min: 1, max: 7_000 }), { minLength: 1, maxLength: 3 });
  await fc.assert(
    fc.asyncProperty(kills, async (counts) => {
      let current = newStorage();
      for (const count of counts) {
        let left: Storage | undefined;
        const killedBuild = killedAt(tally, count, () => {
          left = killed(current);
        });
        await rebuild(store, [killedBuild], { at: current });
        if (!left) break;
        current.remove();
        current = left;
      }
      const [result] = await rebuild(store, [tally], { at: current });
      if (result?.resumedFrom) resumed += 1;
      expect(rowsOf(current, tally)).toEqual(expected);
      expect(databaseFiles(current)).toEqual([currentFile(current, "tally")]);
      current.remove();
    }),
    { numRuns: 15 },
  );
  expect(resumed).toBeGreaterThan(3);
}, 240_000);
