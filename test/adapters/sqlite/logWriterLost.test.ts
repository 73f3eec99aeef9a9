import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import type { WritingThreads } from "../../../src/adapters/sqlite/append/openLogWriter.ts";
import { openSqliteEventStore } from "../../../src/adapters/sqlite/sqliteEventStore.ts";
import { newEvent } from "../../contract/eventStore.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";

const RealWorker = globalThis.Worker;
const APPENDS = 600;
const LOSSES = 3;
const THREADS: readonly WritingThreads[] = ["own", "flushedAside"];

let folder: string;
let threads: Worker[];

beforeEach(() => {
  folder = temporaryFolder();
  threads = [];
  globalThis.Worker = class extends RealWorker {
    constructor(...options: ConstructorParameters<typeof RealWorker>) {
      super(...options);
      threads.push(this);
    }
  };
});

afterEach(() => {
  globalThis.Worker = RealWorker;
});

const openLog = (writingThreads: WritingThreads) =>
  openSqliteEventStore({ path: join(folder, "log.db"), writingThreads });

test.each(THREADS)(
  "appends survive the loss of a writer thread (%s), and each is in the log once",
  async (threadsOf) => {
    const store = openLog(threadsOf);
    for (let loss = 0; loss < LOSSES; loss += 1) {
      const streams = Array.from({ length: APPENDS }, (_, index) => `stream-${loss}-${index}`);
      const appends = streams.map((stream) => store.append(stream, [newEvent()], "noStream"));
      await appends[0];
      threads.at(-1)?.terminate();
      const results = await Promise.all(appends);
      expect(results.every(({ outcome }) => outcome === "appended")).toBe(true);
      for (const stream of streams) expect((await store.read(stream, 0, 10)).length).toBe(1);
    }
    expect(threads.length).toBe(LOSSES + 1);
    await store.close();
  },
  60_000,
);

test.each(THREADS)(
  "an append fails by its deadline while writer threads keep dying (%s)",
  async (threadsOf) => {
    const store = openLog(threadsOf);
    const stop = setInterval(() => threads.at(-1)?.terminate(), 1);
    const append = store.append("stream", [newEvent()], "noStream", { timeoutMs: 500 });
    await expect(append).rejects.toMatchObject({ name: "StoreError" });
    clearInterval(stop);
    expect(threads.length).toBeLessThan(20);
    await store.append("stream-2", [newEvent()], "noStream");
    await store.close();
  },
  60_000,
);
