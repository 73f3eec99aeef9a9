import { describe, expect, test } from "bun:test";
import type { RowPage } from "../../../projections/keysetPagination.ts";
import { findPage, type ReadModel, readInSteps } from "../../../src/http/lists/caughtUpReads.ts";
import { decodeCursor } from "../../../src/http/lists/cursorPaging.ts";
import { ReadScheduler } from "../../../src/http/lists/readScheduler.ts";
import { Problem } from "../../../src/http/server/problem.ts";
import type { ReadDatabase } from "../../../src/ports/readDatabase.ts";

const NO_ROWS: ReadDatabase = { run: () => {}, get: () => undefined, all: () => [] };

function modelWith(scheduler: ReadScheduler): ReadModel {
  return { db: NO_ROWS, whenCaughtUp: async () => true, scheduler };
}

const place = (number: number) => ({
  createdAt: new Date(number * 1_000).toISOString(),
  id: `00000000-0000-4000-8000-${String(number).padStart(12, "0")}`,
});

describe("the read scheduler:", () => {
  test("one at each round of the event loop, in the order in which they came", async () => {
    const scheduler = new ReadScheduler();
    const seen: string[] = [];
    let round = 0;
    let isDone = false;
    const count = () => {
      round += 1;
      if (!isDone) setImmediate(count);
    };
    setImmediate(count);
    const read = async (name: string) => {
      await scheduler.nextRead();
      seen.push(`${name} ${round}`);
    };
    await Promise.all(["first", "second", "third"].map(read));
    isDone = true;
    expect(seen.map((text) => text.split(" ")[0])).toEqual(["first", "second", "third"]);
    expect(new Set(seen.map((text) => text.split(" ")[1])).size).toBe(3);
  });

  test("too many waiting reads are asked to retry", async () => {
    const scheduler = new ReadScheduler();
    const reads = Array.from({ length: 2_001 }, () => scheduler.nextRead());
    const results = await Promise.allSettled(reads);
    expect(results.filter(({ status }) => status === "rejected")).toHaveLength(1);
    const last = results.at(-1);
    expect(last?.status === "rejected" && last.reason).toBeInstanceOf(Problem);
    await scheduler.nextRead();
  });

  test("a page looks up its items a few in each round, in their order", async () => {
    const scheduler = new ReadScheduler();
    let under = 0;
    let mostRunning = 0;
    const items = Array.from({ length: 95 }, (_, number) => number);
    const seen = await scheduler.mapEach(items, async (item) => {
      under += 1;
      mostRunning = Math.max(mostRunning, under);
      await Promise.resolve();
      under -= 1;
      return item * 2;
    });
    expect(seen).toEqual(items.map((item) => item * 2));
    expect(mostRunning).toBeLessThanOrEqual(10);
  });

  test("a page looks up more while items are slow to come, as many as are allowed, and keeps their order", async () => {
    const scheduler = new ReadScheduler();
    const items = Array.from({ length: 95 }, (_, number) => number);
    const waiting: (() => void)[] = [];
    let under = 0;
    let mostRunning = 0;
    const page = scheduler.mapEach(items, async (item) => {
      under += 1;
      mostRunning = Math.max(mostRunning, under);
      await new Promise<void>((resolve) => waiting.push(resolve));
      under -= 1;
      return item * 2;
    });
    while (mostRunning < 40) await new Promise(setImmediate);
    // Last come, first served: what began first ends last.
    const first = waiting.shift();
    let ended = 0;
    while (ended < 94) {
      await new Promise(setImmediate);
      const next = waiting.pop();
      if (next !== undefined) ended += 1;
      next?.();
    }
    first?.();
    expect(await page).toEqual(items.map((item) => item * 2));
    expect(mostRunning).toBe(40);
  });

  test("a page of which one item fails begins no more, waits for what is under way, and fails", async () => {
    const scheduler = new ReadScheduler();
    const order: number[] = [];
    let under = 0;
    const page = scheduler.mapEach(
      Array.from({ length: 95 }, (_, number) => number),
      async (item) => {
        order.push(item);
        under += 1;
        await new Promise(setImmediate);
        under -= 1;
        if (item % 2 === 1) throw new Error(`no ${item}`);
      },
    );
    expect(await page.catch(String)).toBe("Error: no 1");
    expect(under).toBe(0);
    expect(order.length).toBeLessThan(40);
  });

  test("one step is taken in each round", async () => {
    const steps: number[] = [];
    const result = await readInSteps(modelWith(new ReadScheduler()), function* () {
      for (let step = 0; step < 3; step += 1) {
        steps.push(step);
        yield;
      }
      return "all";
    });
    expect({ steps, result }).toEqual({ steps: [0, 1, 2], result: "all" });
  });
});

describe("a page of a list", () => {
  type Row = ReturnType<typeof place>;
  /** Finds a row in every so many queries; each looks at ten rows. */
  const finding = (every: number, rows: number) => {
    const order: number[] = [];
    const find = (_: ReadDatabase, query: { after?: Row; limit: number }): RowPage<Row> => {
      const from = query.after === undefined ? 0 : Date.parse(query.after.createdAt) / 1_000;
      order.push(from);
      const next = from + 10 >= rows ? null : place(from + 10);
      return { rows: every > 0 && (from / 10) % every === 0 ? [place(from + 5)] : [], next };
    };
    return { order, find };
  };

  test("that finds nothing ends after ten queries, and says where to go on", async () => {
    const { order, find } = finding(0, 1_000);
    const page = await findPage(modelWith(new ReadScheduler()), { limit: 25 }, find);
    expect(page.shown).toEqual([]);
    expect(order).toHaveLength(10);
    expect(decodeCursor(page.nextCursor ?? "")).toEqual(place(100));
  });

  test("goes on from query to query until it is full or the list ends", async () => {
    const full = await findPage(modelWith(new ReadScheduler()), { limit: 3 }, finding(1, 1_000).find);
    expect(full.shown).toHaveLength(3);
    expect(full.nextCursor).not.toBeNull();
    const all = await findPage(modelWith(new ReadScheduler()), { limit: 25 }, finding(2, 80).find);
    expect(all).toEqual({ shown: [place(5), place(25), place(45), place(65)], nextCursor: null });
  });
});
