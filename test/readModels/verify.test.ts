import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { join } from "node:path";
import fc from "fast-check";
import type { Projection } from "../../projections/projection.ts";
import type { EventStore } from "../../src/ports/eventStore.ts";
import { compareTable } from "../../src/readModels/compareTables.ts";
import { lastVerifications } from "../../src/readModels/listReadModels.ts";
import { rebuildReadModels } from "../../src/readModels/rebuildReadModels.ts";
import {
  type Difference,
  type VerifyOptions,
  verifyReadModels,
} from "../../src/readModels/verifyReadModels.ts";
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
  follow,
  followOnce,
  newStorage,
  tally,
} from "./followFixtures.ts";

let storage: ReturnType<typeof newStorage>;
beforeEach(() => {
  storage = newStorage();
});
afterEach(() => storage.remove());

async function verify(store: EventStore, projections: Projection[], options: Partial<VerifyOptions> = {}) {
  const found: Difference[] = [];
  const results = await verifyReadModels({
    ...storage,
    store,
    projections,
    signal: new AbortController().signal,
    onDifference: (difference) => found.push(difference),
    ...options,
  });
  return { results, found };
}

/** Changes the rows behind the follower's back. */
function tamper(name: string, ...statements: string[]): void {
  const db = storage.databases.open(join(storage.directory, currentFile(storage, name)), "write");
  for (const statement of statements) db.run(statement);
  db.close();
}

describe("verify", () => {
  test("finds no difference in sound rows, and reports how much it compared", async () => {
    const store = memoryEventStore();
    await appendMany(store, 40);
    await followOnce(storage, store, [tally, counter]);
    const files = databaseFiles(storage);
    const { results, found } = await verify(store, [tally, counter]);
    expect(found).toEqual([]);
    expect(results).toMatchObject([
      { name: "tally", rows: 50, differences: 0, failure: null, position: await store.head() },
      { name: "counter", rows: 1, differences: 0, failure: null },
    ]);
    expect(databaseFiles(storage)).toEqual(files);
  });

  test("finds a changed cell, a missing row and an extra one", async () => {
    const store = memoryEventStore();
    await appendMany(store, 20);
    await followOnce(storage, store, [tally]);
    tamper(
      "tally",
      "UPDATE tally SET sum = sum + 1 WHERE stream = 's-3'",
      "DELETE FROM tally WHERE stream = 's-9'",
      "INSERT INTO notes VALUES ('s-0', 99, 'planted')",
    );
    const { results, found } = await verify(store, [tally]);
    expect(results[0]).toMatchObject({ differences: 3, rows: 31, failure: null });
    expect(
      found.map(({ live, rebuilt, columns: _, event: __, ...where }) => [where, { ...live }, { ...rebuilt }]),
    ).toEqual([
      [
        { projection: "tally", table: "tally", key: ["s-3"] },
        { stream: "s-3", count: 2, sum: 17 },
        { stream: "s-3", count: 2, sum: 16 },
      ],
      [{ projection: "tally", table: "tally", key: ["s-9"] }, {}, { stream: "s-9", count: 2, sum: 28 }],
      [
        { projection: "tally", table: "notes", key: ["s-0", 99] },
        { stream: "s-0", revision: 99, note: "planted" },
        {},
      ],
    ]);
  });

  test("compares at the live checkpoint, however far ahead the log is", async () => {
    const store = memoryEventStore();
    await appendMany(store, 20);
    await followOnce(storage, store, [tally]);
    const checkpoint = await store.head();
    await appendMany(store, 20);
    const { results } = await verify(store, [tally]);
    expect(results[0]).toMatchObject({ position: checkpoint, differences: 0, failure: null });
  });

  test("finds no false difference beside a running service while events keep coming", async () => {
    const store = memoryEventStore({ batchEventsMax: 50 });
    await appendMany(store, 2_500);
    const following = follow(storage, store, [tally, counter]);
    await following.caughtUp();
    let isDone = false;
    const write = async () => {
      for (let index = 0; !isDone; index += 1) {
        await append(store, `s-${index % 10}`, added(index), ...(index % 50 === 0 ? [erased()] : []));
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    const writing = write();
    const { results, found } = await verify(store, [tally, counter]);
    isDone = true;
    await writing;
    await following.stop();
    expect(found).toEqual([]);
    expect(results.map(({ failure }) => failure)).toEqual([null, null]);
  });

  test("names the event that should have removed the row or changed the differing cell", async () => {
    const store = memoryEventStore();
    await append(store, "s-1", added(1), added(2), erased());
    await append(store, "s-2", added(1), added(0), added(5));
    await append(store, "s-3", added(1), erased(), added(2));
    await append(store, "s-4", added(4), added(0));
    await followOnce(storage, store, [tally]);
    tamper(
      "tally",
      "INSERT INTO notes VALUES ('s-1', 0, 'note 1')",
      "UPDATE tally SET sum = 7 WHERE stream = 's-2'",
      "UPDATE notes SET note = 'x' WHERE stream = 's-2' AND revision = 1",
      "DELETE FROM tally WHERE stream = 's-3'",
      // The second event changed only the count.
      "UPDATE tally SET sum = 9 WHERE stream = 's-4'",
    );
    const { found } = await verify(store, [tally]);
    expect(found.map(({ table, key, event }) => [table, ...key, event?.type, event?.revision])).toEqual([
      ["tally", "s-2", "Added", 2],
      ["tally", "s-3", "Added", 2],
      ["tally", "s-4", "Added", 0],
      ["notes", "s-1", 0, "Erased", 2],
      ["notes", "s-2", 1, "Added", 1],
    ]);
  });

  test("lists a hundred differences and counts all of them", async () => {
    const store = memoryEventStore();
    await appendMany(store, 1_500);
    await followOnce(storage, store, [tally, counter]);
    tamper("tally", "UPDATE notes SET note = note || '!'");
    const { results, found } = await verify(store, [tally, counter]);
    expect(results.map(({ differences }) => differences)).toEqual([1_500, 0]);
    expect(found).toHaveLength(100);
    expect(found.every(({ event }) => event !== null)).toBe(true);
  });

  test("its result is kept until the next verification or rebuild", async () => {
    const store = memoryEventStore();
    await appendMany(store, 20);
    await followOnce(storage, store, [tally, counter]);
    const kept = () =>
      lastVerifications(storage.databases, storage.directory).map(({ name, differences, rows }) => [
        name,
        differences,
        rows,
      ]);
    expect(kept()).toEqual([]);
    tamper("tally", "DELETE FROM notes WHERE revision = 0");
    await verify(store, [tally, counter]);
    expect(kept()).toEqual([
      ["counter", 0, 1],
      ["tally", 10, 30],
    ]);
    const { signal } = new AbortController();
    await rebuildReadModels({ ...storage, store, projections: [tally], owner: true, signal });
    expect(kept()).toEqual([["counter", 0, 1]]);
    await verify(store, [tally]);
    expect(kept()).toEqual([
      ["counter", 0, 1],
      ["tally", 0, 30],
    ]);
  });

  test("its findings about rows that a rebuild replaces meanwhile are not kept for the new rows", async () => {
    const store = memoryEventStore();
    await appendMany(store, 20);
    await followOnce(storage, store, [tally]);
    tamper("tally", "DELETE FROM notes WHERE revision = 0");
    let pauses = 0;
    const rest = async () => {
      pauses += 1;
      // The second one: the rows are open by then.
      if (pauses !== 2) return;
      const { signal } = new AbortController();
      await rebuildReadModels({ ...storage, store, projections: [tally], owner: true, signal });
    };
    const { results } = await verify(store, [tally], { rest });
    expect(results).toMatchObject([{ differences: 10 }]);
    expect(lastVerifications(storage.databases, storage.directory)).toEqual([]);
  });

  test("a row that makes later events fail is still found", async () => {
    const store = memoryEventStore();
    await appendMany(store, 20);
    await followOnce(storage, store, [tally]);
    tamper("tally", "INSERT INTO notes VALUES ('s-1', 2, 'in the way')");
    await append(store, "s-1", added(1));
    const { results, found } = await verify(store, [tally]);
    expect(results).toMatchObject([{ differences: 1, failure: null }]);
    expect(found).toMatchObject([{ table: "notes", key: ["s-1", 2] }]);
  });

  test("erased and truncated data is no difference", async () => {
    const store = memoryEventStore();
    await append(store, "s-1", added(1), added(2));
    await followOnce(storage, store, [tally]);
    await append(store, "s-1", erased(), added(3));
    await followOnce(storage, store, [tally]);
    await store.truncateBefore("s-1", 2);
    const { results } = await verify(store, [tally]);
    expect(results[0]).toMatchObject({ rows: 2, differences: 0, failure: null });
  });

  test("reports why it could not compare", async () => {
    const store = memoryEventStore();
    const neverBuilt = "it has never been built";
    expect((await verify(store, [tally])).results[0]?.failure).toBe(neverBuilt);
    await appendMany(store, 5);
    await followOnce(storage, store, [counter, brittle]);
    const signalled = await verify(store, [
      tally,
      { ...counter, version: 2 },
      { ...brittle, apply: () => fail() },
    ]);
    expect(signalled.results.map(({ failure }) => failure)).toEqual([
      neverBuilt,
      "its rows are of version 1, this program's projection is version 2",
      "projection brittle stopped at Added, stream s-0, revision 0: RangeError: thrown by the test",
    ]);
    const ofOtherLog = await verify(store, [counter], { logId: "log-2" });
    expect(ofOtherLog.results[0]?.failure).toBe("its rows were made from another log");
    const shorter = await verify(memoryEventStore(), [counter]);
    expect(shorter.results[0]?.failure).toBe("its rows go further than the log");
  });

  test("an interrupted verification leaves nothing behind", async () => {
    const store = memoryEventStore();
    await appendMany(store, 5_000);
    await followOnce(storage, store, [counter]);
    const stopping = new AbortController();
    const options = {
      signal: stopping.signal,
      onProgress: () => stopping.abort(new Error("stopped by the test")),
    };
    await expect(verify(store, [counter], options)).rejects.toThrow("stopped by the test");
    await verify(store, [counter], options).catch(() => {});
    expect(databaseFiles(storage)).toEqual(["counter.1.1.db"]);
  });
});

function fail(): void {
  throw new RangeError("thrown by the test");
}

test("two tables are walked in the same order, whatever the types and letters of their keys", () => {
  const value = fc.oneof(
    fc.constant(null),
    fc.integer({ min: -3, max: 3 }),
    fc.constantFrom(0.5, -1.5, 1e300),
    fc.string({ unit: "grapheme", maxLength: 3 }).filter((text) => !text.includes("\0")),
    fc.constantFrom("\uffff", "😀", "a", "B", "ß"),
    fc.uint8Array({ maxLength: 3 }),
  );
  const table = { name: "t", columns: "a, b, c, UNIQUE (a, b)", key: ["a", "b"] };
  const row = fc.tuple(value, value, fc.integer({ min: 0, max: 1 }));
  const idOf = (key: readonly unknown[]) =>
    key.map((part) => (part instanceof Uint8Array ? `x${part.toHex()}` : JSON.stringify(part))).join();
  fc.assert(
    fc.property(fc.array(row), fc.array(row), (live, rebuilt) => {
      const sides = [live, rebuilt].map((rows) => {
        const db = storage.databases.open(":memory:", "build");
        db.run(`CREATE TABLE t (${table.columns})`);
        const unique = new Map(rows.map(([a, b, c]) => [idOf([a, b]), [a, b, c] as const]));
        for (const values of unique.values()) db.run("INSERT INTO t VALUES (?, ?, ?)", ...values);
        return { db, unique };
      });
      const [left, right] = sides;
      if (!left || !right) throw new Error("expected two sides");
      const walked = [...compareTable(left.db, right.db, table)];
      const ids = new Set([...left.unique.keys(), ...right.unique.keys()]);
      const differing = [...ids].filter((id) => left.unique.get(id)?.[2] !== right.unique.get(id)?.[2]);
      expect(walked).toHaveLength(ids.size);
      expect(walked.flatMap((difference) => (difference ? [idOf(difference.key)] : [])).sort()).toEqual(
        differing.sort(),
      );
      for (const { db } of sides) db.close();
    }),
  );
});
