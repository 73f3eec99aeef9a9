import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { readdirSync } from "node:fs";
import fc from "fast-check";
import type { Projection } from "../../projections/projection.ts";
import { parseTime } from "../../src/cli/program/timeArgument.ts";
import { HOUR_MS, MINUTE_MS, rfc3339 } from "../../src/kernel/time.ts";
import type { EventStore, NewEvent } from "../../src/ports/eventStore.ts";
import type { SqlRow } from "../../src/ports/readDatabase.ts";
import { AsOfError, type AsOfOptions, changesBetween, withReadModelAsOf } from "../../src/readModels/asOf.ts";
import { rowsByKey } from "../../src/readModels/compareTables.ts";
import { memoryEventStore } from "../support/stores/memoryEventStore.ts";
import { added, append, brittle, erased, newStorage, tally } from "./followFixtures.ts";

const NOON = Date.parse("2030-01-01T12:00:00Z");

let storage: ReturnType<typeof newStorage>;
beforeEach(() => {
  storage = newStorage();
});
afterEach(() => storage.remove());

function at(ms: number, event: NewEvent): NewEvent {
  return { ...event, metadata: { at: rfc3339(NOON + ms) } };
}

function options(store: EventStore, projection: Projection = tally): AsOfOptions {
  return { ...storage, store, projection, signal: new AbortController().signal };
}

/** The rows of a read model as they were `ms` after noon, table by table. */
function asOf(store: EventStore, ms: number, projection: Projection = tally) {
  return withReadModelAsOf(options(store, projection), [NOON + ms], async ([past]) =>
    projection.tables.map((table): SqlRow[] =>
      past ? [...rowsByKey(past.db, table)].map((row) => ({ ...row })) : [],
    ),
  );
}

describe("a read model as of a moment", () => {
  test("consists of the events up to and including that moment", async () => {
    const store = memoryEventStore();
    await append(store, "s-1", at(0, added(1)), at(1_000, added(2)), at(2_000, erased()));
    const sums = [];
    for (const ms of [-1, 0, 999, 1_000, 2_000, 1e9]) {
      const [rows] = await asOf(store, ms);
      sums.push(rows?.map(({ sum }) => sum));
    }
    expect(sums).toEqual([[], [1], [1], [3], [], []]);
    expect(readdirSync(storage.directory)).toEqual([]);
  });

  test("includes no stream past its first later event, whatever the clocks say", async () => {
    const store = memoryEventStore();
    await append(store, "fast", at(0, added(1)), at(5_000, added(10)), at(100, added(100)));
    await append(store, "slow", at(50, added(1)));
    const [rows] = await asOf(store, 1_000);
    expect(rows).toEqual([
      { stream: "fast", count: 1, sum: 1 },
      { stream: "slow", count: 1, sum: 1 },
    ]);
    expect((await asOf(store, 5_000))[0]).toMatchObject([{ sum: 111 }, { sum: 1 }]);
  });

  test("leaves out what was erased since", async () => {
    const store = memoryEventStore();
    await append(store, "s-1", at(0, added(1)), at(9_000, erased()), at(9_000, added(7)));
    await append(store, "s-2", at(0, added(2)));
    expect((await asOf(store, 1_000))[0]).toHaveLength(2);
    await store.truncateBefore("s-1", 1);
    expect(await asOf(store, 1_000)).toEqual([
      [{ stream: "s-2", count: 1, sum: 2 }],
      [{ stream: "s-2", revision: 0, note: "note 2" }],
    ]);
  });

  test("reports at which event it failed, and nothing of the event's content", async () => {
    const store = memoryEventStore();
    await append(store, "s-1", at(0, added(1)), at(5_000, added(1, "break")));
    expect(await asOf(store, 0, brittle)).toHaveLength(1);
    const failing = asOf(store, 5_000, brittle);
    await expect(failing).rejects.toThrow(AsOfError);
    await expect(failing).rejects.toThrow(
      /^projection brittle stopped at Added, stream s-1, revision 1: Error$/,
    );
    expect(readdirSync(storage.directory)).toEqual([]);
  });

  test("leaves nothing behind when interrupted", async () => {
    const store = memoryEventStore();
    await append(store, "s-1", ...Array.from({ length: 5_000 }, (_, index) => at(0, added(index))));
    const stopping = new AbortController();
    const onProgress = () => stopping.abort(new Error("stopped by the test"));
    const wanted = { ...options(store), onProgress, signal: stopping.signal };
    await expect(withReadModelAsOf(wanted, [NOON], async () => {})).rejects.toThrow("stopped by the test");
    expect(readdirSync(storage.directory)).toEqual([]);
  });

  test("has the rows of a log that ends there, whatever the order of the streams", async () => {
    const steps = fc.array(
      fc.record({
        stream: fc.constantFrom("a", "b", "c"),
        waitMs: fc.constantFrom(0, 1, 1_000),
        isErased: fc.integer({ min: 0, max: 5 }).map((number) => number === 0),
      }),
      { maxLength: 30 },
    );
    await fc.assert(
      fc.asyncProperty(steps, fc.nat(30_000), async (history, ms) => {
        const complete = memoryEventStore();
        const truncated = memoryEventStore();
        let now = 0;
        for (const { stream, waitMs, isErased } of history) {
          now += waitMs;
          const event = at(now, isErased ? erased() : added(now));
          await append(complete, stream, event);
          if (now <= ms) await append(truncated, stream, event);
        }
        expect(await asOf(complete, ms)).toEqual(await asOf(truncated, 1e9));
      }),
      { numRuns: 30 },
    );
  });
});

describe("the difference between two moments", () => {
  test("lists every row that was added, removed or changed, with its columns", async () => {
    const store = memoryEventStore();
    await append(store, "goes", at(0, added(1)), at(2_000, erased()));
    await append(store, "stays", at(0, added(1)));
    await append(store, "moves", at(0, added(1)), at(2_000, added(2)));
    await append(store, "comes", at(2_000, added(5)));
    const changes = await withReadModelAsOf(
      options(store),
      [NOON + 1_000, NOON + 2_000],
      async ([from, to]) => (from && to ? [...changesBetween(from, to)] : []),
    );
    expect(changes.map(({ table, change, key, columns }) => [table, change, key[0], columns])).toEqual([
      ["tally", "added", "comes", []],
      ["tally", "removed", "goes", []],
      ["tally", "changed", "moves", ["count", "sum"]],
      ["notes", "added", "comes", []],
      ["notes", "removed", "goes", []],
      ["notes", "added", "moves", []],
    ]);
    expect({ ...changes[2]?.before }).toEqual({ stream: "moves", count: 1, sum: 1 });
    expect({ ...changes[2]?.after }).toEqual({ stream: "moves", count: 2, sum: 3 });
  });
});

test.each<[string, number | null]>([
  ["2030-01-01T12:00:00Z", NOON],
  ["2030-01-01t13:30:00.5+01:30", NOON + 500],
  ["2030-01-01", NOON - 12 * HOUR_MS],
  ["90m", NOON - 90 * MINUTE_MS],
  ["2h", NOON - 2 * HOUR_MS],
  ["0s", NOON],
  ["1w", NOON - 168 * HOUR_MS],
  ["2030-02-30", null],
  ["2030-01-01T12:00:00", null],
  ["12:00", null],
  ["2 h", null],
  ["9999999d", null],
  ["", null],
])("%p is a moment, or none", (text, input) => {
  expect(parseTime(text, NOON)).toBe(input);
});
