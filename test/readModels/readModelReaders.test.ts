import { expect, test } from "bun:test";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readModelDatabases.ts";
import type { Position } from "../../src/ports/eventStore.ts";
import type { ReadDatabases } from "../../src/ports/readDatabase.ts";
import { emptyWriteAheadLogs } from "../../src/readModels/generations/emptyWriteAheadLogs.ts";
import { openReaders } from "../../src/readModels/readModelReaders.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

const directory = temporaryFolder();

/** No wait in these tests may end by timing out. */
const WAIT_MS = 60_000;
const at = (number: number) => String(number).padStart(16, "0") as Position;

test("rows rebuilt after damage hold nothing of the old ones", async () => {
  for (const file of ["a.db", "b.db"]) sqliteReadDatabases.open(join(directory, file), "write").close();
  const readers = openReaders({ databases: sqliteReadDatabases, directory, projections: [{ name: "a" }] });
  readers.receive({ type: "opened", name: "a", file: "a.db", position: at(5) });
  readers.receive({ type: "joined", name: "a", position: at(9) });
  expect(await readers.waitForPosition("a", at(9), WAIT_MS)).toBe(true);

  readers.receive({ type: "opened", name: "a", file: "b.db", position: at(1) });
  expect(readers.position("a")).toBe(at(1));
  let isSettled = false;
  const waiting = readers.waitForPosition("a", at(9), WAIT_MS).finally(() => {
    isSettled = true;
  });
  readers.receive({ type: "behind", name: "a", position: at(8) });
  await Promise.resolve();
  expect(isSettled).toBe(false);
  readers.receive({ type: "behind", name: "a", position: at(9) });
  expect(await waiting).toBe(true);
  readers.close();
});

test("what the follower has watched for is known from its first progress on, and no more when it is interrupted", () => {
  const readers = openReaders({ databases: sqliteReadDatabases, directory, projections: [] });
  const progress = (position: number, hasWatchedEvent = false, caughtUp = true) =>
    readers.receive({ type: "progress", position: at(position), caughtUp, hasWatchedEvent });
  expect(readers.noneWatchedUntil(at(5))).toBeNull();
  progress(10);
  expect(readers.noneWatchedUntil(at(9))).toBeNull();
  expect(readers.noneWatchedUntil(at(10))).toBe(at(10));
  progress(20);
  expect(readers.noneWatchedUntil(at(10))).toBe(at(20));
  expect(readers.noneWatchedUntil(at(25))).toBe(at(25));
  progress(22, false, false);
  expect(readers.noneWatchedUntil(at(25))).toBeNull();
  progress(30, true);
  expect(readers.noneWatchedUntil(at(29))).toBeNull();
  expect(readers.noneWatchedUntil(at(30))).toBe(at(30));
  readers.receive({ type: "interrupted", reason: "a test" });
  expect(readers.noneWatchedUntil(at(30))).toBeNull();
  progress(40);
  expect(readers.noneWatchedUntil(at(30))).toBeNull();
  readers.close();
});

test("queries of one turn share a snapshot, which ends when the follower has committed", async () => {
  mkdirSync(join(directory, "shared"));
  const writer = sqliteReadDatabases.open(join(directory, "shared", "snapshot.db"), "write");
  writer.run("CREATE TABLE numbers (number INTEGER)");
  const readers = openReaders({ databases: sqliteReadDatabases, directory, projections: [{ name: "n" }] });
  readers.receive({ type: "opened", name: "n", file: "shared/snapshot.db", position: at(1) });
  readers.receive({ type: "joined", name: "n", position: at(1) });
  const rows = readers.turnReader("n");
  const count = () => rows.get("SELECT count(*) AS count FROM numbers")?.count;
  const add = () => writer.run("INSERT INTO numbers VALUES (1)");
  expect(count()).toBe(0);
  add();
  expect(count()).toBe(0);
  readers.receive({ type: "progress", position: at(2), caughtUp: true, hasWatchedEvent: false });
  expect(count()).toBe(1);
  add();
  expect(count()).toBe(1);
  expect(sqliteReadDatabases.emptyWriteAheadLog(join(directory, "shared", "snapshot.db"))).toBe(false);
  await new Promise((resolve) => setImmediate(resolve));
  expect(count()).toBe(2);
  let attempts = 0;
  const databases: ReadDatabases = {
    ...sqliteReadDatabases,
    emptyWriteAheadLog(path) {
      attempts += 1;
      return sqliteReadDatabases.emptyWriteAheadLog(path);
    },
  };
  add();
  expect(count()).toBe(2);
  // It is in the way of nobody who waits for the next turn.
  expect(await emptyWriteAheadLogs(databases, join(directory, "shared"))).toEqual([]);
  expect(attempts).toBe(1);
  readers.close();
  writer.close();
});
