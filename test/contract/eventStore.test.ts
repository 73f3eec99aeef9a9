import { afterAll, describe } from "bun:test";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openSqliteEventStore } from "../../src/adapters/sqlite/sqliteEventStore.ts";
import { canStartEventStoreDb, eventStoreDb, startEventStoreDb } from "../support/stores/eventstoredb.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";
import { appendsInOrder } from "./appendsInOrder.ts";
import { eventStoreContract, testCounts } from "./eventStore.ts";
import { eventStoreDbContract } from "./eventStoreDbContract.ts";
import { eventStoreDbRestarts } from "./eventStoreFaults.ts";

/** The contract pauses and kills its server, so where one can be started it has its own. */
const own = canStartEventStoreDb && !process.env.EVENTSTORE_URL ? await startEventStoreDb() : null;
const server = own ?? (await eventStoreDb());

describe.skipIf(!server)("EventStoreDB keeps the event store's contract", () => {
  if (server === null) return;
  eventStoreDbContract("eventstoredb", server, own?.process ?? null);
  eventStoreDbRestarts("eventstoredb", server, own?.process ?? null);
});

describe.each([
  ["SQLite", "caller"],
  ["SQLite with a thread that flushes", "flushedAside"],
  ["SQLite with a thread that writes", "own"],
] as const)("%s keeps the event store's contract", (_name, writingThreads) => {
  const folder = temporaryFolder();
  const path = join(folder, "log.db");
  const stall = async () => {
    const other = new DatabaseSync(path);
    other.exec("PRAGMA busy_timeout = 5000");
    other.exec("BEGIN IMMEDIATE");
    return async () => {
      other.exec("ROLLBACK");
      other.close();
    };
  };
  eventStoreContract({
    name: "sqlite",
    open: async (options) => openSqliteEventStore({ path, writingThreads, ...options }),
    stall,
  });
  appendsInOrder({ name: "sqlite", open: async () => openSqliteEventStore({ path, writingThreads }) });
});

afterAll(() => {
  const counts = ["eventstoredb", "sqlite"].map((name) => `${name} ${testCounts.get(name) ?? 0} tests`);
  console.log(`contract: ${counts.join(", ")}`);
});
