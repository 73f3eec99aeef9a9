import { afterEach, beforeEach, expect, spyOn, test } from "bun:test";
import { copyFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { DurableTransaction } from "../../../src/adapters/sqlite/append/durableTransaction.ts";
import { WriteAheadLogFlush } from "../../../src/adapters/sqlite/append/writeAheadLogFlush.ts";
import { openLogDatabase } from "../../../src/adapters/sqlite/openLogDatabase.ts";
import { openSqliteEventStore } from "../../../src/adapters/sqlite/sqliteEventStore.ts";
import { LOG_START, type Position } from "../../../src/ports/eventStore.ts";
import { openStore } from "../../../src/service/adapters/openStore.ts";
import { newEvent } from "../../contract/eventStore.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";
import { until } from "../../support/until.ts";

const RealWorker = globalThis.Worker;
const TURNS = 100;

let folder: string;
/** What the store asked to flush, in order. */
let flushes: unknown[];
/** Called at each flush, in place of the disk: whether the thread is asked at all, or it fails. */
let isFlushed: () => boolean;

beforeEach(() => {
  folder = temporaryFolder();
  flushes = [];
  globalThis.Worker = class extends RealWorker {
    override postMessage(message: object): void {
      if ("flush" in message) flushes.push(message.flush);
      if (!("flush" in message) || isFlushed()) super.postMessage(message);
      else this.dispatchEvent(new MessageEvent("message", { data: false }));
    }
  };
});

afterEach(() => {
  globalThis.Worker = RealWorker;
});

const openCopy = () => openSqliteEventStore({ path: join(folder, "log.db"), writingThreads: "flushedAside" });

/** Opens a log whose flushes have all succeeded so far. */
async function openLog() {
  isFlushed = () => true;
  const store = openCopy();
  await store.flush();
  flushes.length = 0;
  return store;
}

test("an append whose flush failed is acknowledged once the whole write-ahead log is rewritten and flushed", async () => {
  const store = await openLog();
  isFlushed = () => flushes.length !== 2;
  await store.append("one", [newEvent()], "noStream");
  const event = newEvent();
  expect(await store.append("two", [event], "noStream")).toMatchObject({ outcome: "appended", revision: 0 });
  expect(flushes).toEqual(["written", "written", "rewritten", "written"]);
  expect((await store.read("two", 0, 10)).map(({ id }) => id)).toEqual([event.id]);
  expect(await store.faults("whole")).toEqual([]);
  await store.close();
});

test("while flushes fail, an append that was written ends as outcomeUnknown", async () => {
  const store = await openLog();
  isFlushed = () => false;
  const append = store.append("one", [newEvent()], "noStream", { timeoutMs: 300 });
  await expect(append).rejects.toMatchObject({ name: "StoreError", failure: "outcomeUnknown" });
  expect(new Set(flushes.slice(1))).toEqual(new Set(["rewritten"]));
  isFlushed = () => true;
  expect(await store.append("two", [newEvent()], "noStream")).toMatchObject({ outcome: "appended" });
  expect(flushes.slice(-2)).toEqual(["rewritten", "written"]);
  expect(await store.faults("whole")).toEqual([]);
  await store.close();
});

test("while flushes fail, an event can be read but flush() does not confirm it", async () => {
  const store = await openLog();
  isFlushed = () => false;
  await store.append("one", [newEvent()], "noStream", { timeoutMs: 300 }).catch(() => {});
  expect((await store.read("one", 0, 10)).length).toBe(1);
  await expect(store.flush({ timeoutMs: 300 })).rejects.toMatchObject({ name: "StoreError" });
  isFlushed = () => true;
  await store.flush();
  expect(flushes.slice(-2)).toEqual(["rewritten", "written"]);
  expect((await store.read("one", 0, 10)).length).toBe(1);
  await store.close();
});

test("an append that loses to another handle is answered only once the winner's event is on disk", async () => {
  const store = openSqliteEventStore({ path: join(folder, "log.db") });
  await store.append("one", [newEvent()], "noStream");
  const flush = spyOn(WriteAheadLogFlush.prototype, "flush").mockReturnValue(false);
  const lost = () => store.append("one", [newEvent()], "noStream", { timeoutMs: 300 });
  await expect(lost()).rejects.toMatchObject({ name: "StoreError" });
  flush.mockRestore();
  expect(await lost()).toEqual({ outcome: "wrongExpectedRevision", actual: 0 });
  await store.close();
});

test("a subscription looks again after its own flush failed, even without another commit", async () => {
  const store = openSqliteEventStore({ path: join(folder, "log.db") });
  const event = newEvent();
  await store.append("one", [event], "noStream");
  const flush = spyOn(WriteAheadLogFlush.prototype, "flush").mockReturnValueOnce(false);
  const rewrite = spyOn(WriteAheadLogFlush.prototype, "rewrite");
  const stopped = new AbortController();
  const events: string[] = [];
  for await (const batch of store.subscribe(LOG_START, {}, stopped.signal)) {
    events.push(...batch.events.map(({ id }) => id));
    if (events.length > 0) stopped.abort();
  }
  expect(events).toEqual([event.id]);
  expect(rewrite.mock.calls.length).toBe(1);
  flush.mockRestore();
  rewrite.mockRestore();
  await store.close();
});

test.each(["caller", "flushedAside"] as const)(
  "the log is not read to its head until the head is on disk (written by: %s)",
  async (writingThreads) => {
    const path = join(folder, "log.db");
    const store = openSqliteEventStore({ path, writingThreads, timeoutMs: 300 });
    const event = newEvent();
    isFlushed = () => true;
    await store.append("one", [event], "noStream");
    isFlushed = () => false;
    const flush = spyOn(WriteAheadLogFlush.prototype, "flush").mockReturnValue(false);
    const read = async () => {
      const ids: string[] = [];
      for await (const { events } of store.readAll(LOG_START, {})) ids.push(...events.map(({ id }) => id));
      return ids;
    };
    await expect(read()).rejects.toMatchObject({ name: "StoreError", failure: "unavailable" });
    flush.mockRestore();
    isFlushed = () => true;
    expect(await read()).toEqual([event.id]);
    await store.close();
  },
);

test("reading on from the end of the log flushes nothing", async () => {
  const store = await openLog();
  await store.append("one", [newEvent()], "noStream");
  flushes.length = 0;
  const readFrom = async (from: Position) =>
    (await Array.fromAsync(store.readAll(from, {}))).at(-1)?.position;
  const end = await readFrom(LOG_START);
  expect(flushes).toEqual(["written"]);
  expect(await readFrom(end ?? LOG_START)).toBe(end);
  expect(flushes).toEqual(["written"]);
  await store.close();
});

test("nothing is rewritten while another process writes", async () => {
  const store = await openLog();
  const other = new DatabaseSync(join(folder, "log.db"));
  isFlushed = () => {
    if (flushes.length === 1) other.exec("BEGIN IMMEDIATE");
    return flushes.length !== 1;
  };
  const append = store.append("one", [newEvent()], "noStream");
  await until(() => flushes.length > 3, "several attempts");
  expect(new Set(flushes.slice(1))).toEqual(new Set(["rewritten"]));
  other.exec("ROLLBACK");
  expect(await append).toMatchObject({ outcome: "appended" });
  other.close();
  await store.close();
});

test("rewriting while another process writes leaves the log intact", async () => {
  const store = await openLog();
  const other = openSqliteEventStore({ path: join(folder, "log.db") });
  isFlushed = () => flushes.length % 3 !== 0;
  for (let turn = 0; turn < TURNS; turn += 1) {
    const both = [
      store.append(`a-${turn}`, [newEvent()], "noStream"),
      other.append(`b-${turn}`, [newEvent()], "noStream"),
    ];
    for (const { outcome } of await Promise.all(both)) expect(outcome).toBe("appended");
  }
  expect(flushes.filter((kind) => kind === "rewritten").length).toBeGreaterThan(TURNS / 4);
  expect(await other.faults("whole")).toEqual([]);
  expect(Number(await other.head())).toBe(2 * TURNS);
  await Promise.all([store.close(), other.close()]);
});

test("nothing is acknowledged until what a killed service left unflushed is on disk", async () => {
  const killed = await openLog();
  await killed.append("one", [newEvent()], "noStream");
  const path = join(folder, "left.db");
  for (const suffix of ["", "-wal"]) copyFileSync(join(folder, `log.db${suffix}`), `${path}${suffix}`);
  await killed.close();
  flushes.length = 0;
  isFlushed = () => flushes.length > 2;
  const store = openSqliteEventStore({ path, writingThreads: "flushedAside" });
  expect(await store.append("two", [newEvent()], "noStream")).toMatchObject({ outcome: "appended" });
  expect(flushes).toEqual(["rewritten", "rewritten", "rewritten", "written"]);
  expect((await store.read("one", 0, 10)).length).toBe(1);
  expect(await store.faults("whole")).toEqual([]);
  await store.close();
});

test("a starting service waits until the whole log is rewritten, however short the call time-out", async () => {
  const killed = await openLog();
  await killed.append("one", [newEvent()], "noStream");
  const left = join(folder, "left");
  mkdirSync(left);
  for (const suffix of ["", "-wal"])
    copyFileSync(join(folder, `log.db${suffix}`), join(left, `events.db${suffix}`));
  await killed.close();
  flushes.length = 0;
  isFlushed = () => flushes.length > 100;
  const config = { storeUrl: `file:${left}`, storeTimeoutMs: 10 };
  const store = await openStore(config, { writingThreads: "flushedAside" });
  expect(flushes.length).toBe(102);
  await store.close();
});

test("a writer on its own thread rewrites the log before its first append and after a failed flush", async () => {
  const path = join(folder, "log.db");
  const log = openSqliteEventStore({ path });
  const db = openLogDatabase(path, { cacheKib: 1_024 });
  const transaction = new DurableTransaction(db, path, true);
  const event = { id: crypto.randomUUID(), type: "T", metadata: "{}", data: "{}" };
  const append = (stream: string) =>
    transaction.run([{ stream, events: [event], expected: "noStream" }]).kind;
  const rewrite = spyOn(WriteAheadLogFlush.prototype, "rewrite").mockReturnValueOnce(false);
  expect(append("one")).toBe("failed");
  expect(await log.lastRevision("one")).toBe(null);
  expect([append("one"), append("two")]).toEqual(["committed", "committed"]);
  expect(rewrite.mock.calls.length).toBe(2);
  const flush = spyOn(WriteAheadLogFlush.prototype, "flush").mockReturnValueOnce(false);
  expect(append("two")).toBe("failed");
  expect(append("three")).toBe("committed");
  expect(rewrite.mock.calls.length).toBe(3);
  for (const spy of [rewrite, flush]) spy.mockRestore();
  transaction.close();
  db.close();
  await log.close();
});
