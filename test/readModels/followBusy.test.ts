import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Projection } from "../../projections/projection.ts";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readModelDatabases.ts";
import type { ReadDatabases, SqlValue } from "../../src/ports/readDatabase.ts";
import { BufferedIncrements } from "../../src/readModels/bufferedIncrements.ts";
import { memoryEventStore } from "../support/stores/memoryEventStore.ts";
import { until } from "../support/until.ts";
import { type Added, added, append, counter, follow, newStorage, rowsOf } from "./followFixtures.ts";

const BATCHES = 20;
const BATCH_EVENTS = 10;
/** How long the follower rests between two transactions while many events arrive. */
const PAUSE_MS = 25;

let storage: ReturnType<typeof newStorage>;
beforeEach(() => {
  storage = newStorage();
});
afterEach(() => storage.remove());

function batch() {
  return Array.from({ length: BATCH_EVENTS }, (_, index) => added(index));
}

/** Sums by note: no row of these is read by `apply`. */
const sums: Projection = {
  ...counter,
  name: "sums",
  tables: [{ name: "sums", columns: "note TEXT PRIMARY KEY, sum INTEGER NOT NULL", key: ["note"] }],
  apply(event, db) {
    const { amount, note } = event.data as Added;
    db.add(
      "INSERT INTO sums VALUES (?, ?) ON CONFLICT DO UPDATE SET sum = sum + excluded.sum",
      [note],
      [amount],
    );
    if (note === "break") throw new Error("the event cannot be applied");
  },
};

describe("while many events arrive", () => {
  test("events that arrive close together share a transaction", async () => {
    const store = memoryEventStore();
    const following = follow(storage, store, [counter]);
    await following.caughtUp();
    following.events.length = 0;
    const startedAt = performance.now();
    for (let nth = 0; nth < BATCHES; nth += 1) {
      await append(store, "s", ...batch());
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(await following.readers.waitForPosition("counter", await store.head(), 5_000)).toBe(true);
    const pauses = Math.ceil((performance.now() - startedAt) / PAUSE_MS);
    const commits = following.events.filter(({ type }) => type === "progress").length;
    expect(commits).toBeLessThanOrEqual(pauses + 1);
    await following.stop();
    expect(rowsOf(storage, counter)).toEqual({ counter: [{ one: 1, count: BATCHES * BATCH_EVENTS }] });
  });
});

describe("sums", () => {
  test("are written once for each row and transaction", async () => {
    let written = 0;
    const databases: ReadDatabases = {
      ...sqliteReadDatabases,
      open(path, mode) {
        const db = sqliteReadDatabases.open(path, mode);
        const add = (sql: string, key: readonly SqlValue[], amounts: readonly number[]) => {
          written += 1;
          db.add(sql, key, amounts);
        };
        return { ...db, add };
      },
    };
    const store = memoryEventStore();
    const following = follow({ ...storage, databases }, store, [sums]);
    await following.caughtUp();
    await append(store, "s", ...[1, 2, 3, 4].map((amount) => added(amount, amount % 2 ? "odd" : "even")));
    expect(await following.readers.waitForPosition("sums", await store.head(), 5_000)).toBe(true);
    await following.stop();
    expect(written).toBe(2);
    expect(rowsOf(storage, sums)).toEqual({
      sums: [
        { note: "even", sum: 6 },
        { note: "odd", sum: 4 },
      ],
    });
  });

  test("of a failed transaction are not written", async () => {
    const store = memoryEventStore();
    const following = follow(storage, store, [sums]);
    await following.caughtUp();
    await append(store, "s", added(1, "kept"));
    expect(await following.readers.waitForPosition("sums", await store.head(), 5_000)).toBe(true);
    await append(store, "s", added(5, "lost"), added(7, "break"));
    await until(() => following.readers.status()[0]?.state === "failed");
    await following.stop();
    expect(rowsOf(storage, sums)).toEqual({ sums: [{ note: "kept", sum: 1 }] });
  });

  test("add up for each key, and are forgotten once they are written", () => {
    const pending = new BufferedIncrements();
    const written: unknown[] = [];
    const db = {
      add: (...call: readonly [string, readonly SqlValue[], readonly number[]]) => void written.push(call),
    };
    pending.add("sql", ["w", 1], [1, 0]);
    pending.add("sql", ["w", 1], [1, 2]);
    pending.add("sql", ["w", 2], [1, 0]);
    pending.writeTo(db);
    pending.writeTo(db);
    expect(written).toEqual([
      ["sql", ["w", 1], [2, 2]],
      ["sql", ["w", 2], [1, 0]],
    ]);
  });
});
