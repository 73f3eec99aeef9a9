import { expect, test } from "bun:test";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import fc from "fast-check";
import { CopyReader } from "../../../src/adapters/sqlite/follow/copyReader.ts";
import { LogCopy } from "../../../src/adapters/sqlite/follow/logCopy.ts";
import { SourceLog } from "../../../src/adapters/sqlite/follow/sourceLog.ts";
import { openSqliteEventStore } from "../../../src/adapters/sqlite/sqliteEventStore.ts";
import { vacuumCopy } from "../../../src/adapters/sqlite/vacuumCopy.ts";
import { type EventStore, LOG_START } from "../../../src/ports/eventStore.ts";
import { mustAppend, newEvent } from "../../contract/eventStore.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";

const folder = temporaryFolder();

const RUNS = 25;
const TEST_MS_MAX = 60_000;

interface Logs {
  readonly source: string;
  readonly copy: string;
  readonly store: EventStore;
}

/** A log with one event, and a copy that was begun then. */
async function copiedLog(): Promise<Logs> {
  const [source, copy] = ["source", "copy"].map((name) =>
    join(folder, `${name}-${crypto.randomUUID()}.db`),
  ) as [string, string];
  const store = openSqliteEventStore({ path: source });
  await mustAppend(store, "first", [newEvent()], "noStream");
  vacuumCopy(source, copy);
  return { source, copy, store };
}

/** Adds to the copy what came since, at most `pagesMax` pages. */
function round({ source, copy }: Pick<Logs, "source" | "copy">, pagesMax = Number.POSITIVE_INFINITY): void {
  using from = SourceLog.open(source);
  using to = LogCopy.open(copy);
  for (let pages = 0; pages < pagesMax && to.head() < from.head(); pages += 1)
    to.append(from.page(to.head()));
}

function blank({ source, copy }: Pick<Logs, "source" | "copy">): void {
  using from = SourceLog.open(source);
  using to = LogCopy.open(copy);
  to.blank(from.truncatedStreams(0));
}

/** All rows of a log's file, whether or not another connection has it open. */
function rowsOf(path: string) {
  using db = new DatabaseSync(path, { readOnly: true });
  return [
    "SELECT * FROM streams ORDER BY id",
    "SELECT * FROM events ORDER BY position",
    "SELECT * FROM log",
  ].map((sql) => db.prepare(sql).all());
}

const streams = fc.constantFrom("a", "b", "c");
const steps = fc.array(
  fc.oneof(
    fc.record({
      kind: fc.constant("append" as const),
      stream: streams,
      events: fc.integer({ min: 1, max: 40 }),
    }),
    fc.record({
      kind: fc.constant("truncate" as const),
      stream: streams,
      revision: fc.integer({ min: 0, max: 60 }),
    }),
    fc.record({ kind: fc.constant("round" as const) }),
    fc.record({ kind: fc.constant("blank" as const) }),
  ),
  { maxLength: 25 },
);

test(
  "after any appends, truncations and rounds, copy and log are equal row by row",
  () =>
    fc.assert(
      fc.asyncProperty(steps, async (taken) => {
        const logs = await copiedLog();
        const { store, copy, source } = logs;
        for (const step of taken) {
          if (step.kind === "append") {
            const last = await store.lastRevision(step.stream);
            const events = Array.from({ length: step.events }, (_, index) =>
              // Bytes as well as JSON, as compressed events are.
              newEvent("Happened", index % 2 === 0 ? { text: "ä'\u2028" } : Uint8Array.of(0, 255, index)),
            );
            await mustAppend(store, step.stream, events, last ?? "noStream");
          } else if (step.kind === "truncate") await store.truncateBefore(step.stream, step.revision);
          else if (step.kind === "round") round(logs);
          else blank(logs);
          // Whatever it has, it is a sound log.
          using reader = CopyReader.open(copy);
          expect(await reader.view().faults("whole")).toEqual([]);
        }
        round(logs);
        blank(logs);
        expect(rowsOf(copy)).toEqual(rowsOf(source));
        await store.close();
      }),
      { numRuns: RUNS },
    ),
  TEST_MS_MAX,
);

test("a page ends at the copy's head while its streams go on in the log, truncated or not", async () => {
  const logs = await copiedLog();
  const { store, source, copy } = logs;
  const many = Array.from({ length: 900 }, () => newEvent());
  await mustAppend(store, "long", many, "noStream");
  await mustAppend(store, "long", many, 899);
  await store.truncateBefore("long", 1_500);
  round(logs, 1);
  {
    using reader = CopyReader.open(copy);
    expect(await reader.view().lastRevision("long")).toBe(999);
    expect(await reader.view().faults("whole")).toEqual([]);
  }
  round(logs);
  expect(rowsOf(copy)).toEqual(rowsOf(source));
  await store.close();
});

test("what is erased leaves no trace in the copy's files", async () => {
  const logs = await copiedLog();
  const { store, copy } = logs;
  const secret = `secret-${crypto.randomUUID()}`;
  await mustAppend(store, "told", [newEvent("Told", { secret }), newEvent()], "noStream");
  round(logs);
  const bytes = () =>
    Buffer.concat([copy, `${copy}-journal`].filter(existsSync).map((path) => readFileSync(path)));
  expect(bytes().includes(secret)).toBe(true);
  await store.truncateBefore("told", 1);
  {
    using from = SourceLog.open(logs.source);
    using to = LogCopy.open(copy);
    expect(to.blank(from.truncatedStreams(0))).toBe(1);
    // While it is still open, too.
    expect(bytes().includes(secret)).toBe(false);
    expect(to.blank(from.truncatedStreams(0))).toBe(0);
  }
  await store.close();
});

test("nobody adds to a copy that somebody reads, and a reader gets it whole", async () => {
  const logs = await copiedLog();
  const { store, copy } = logs;
  await mustAppend(store, "more", [newEvent()], "noStream");
  const reader = CopyReader.open(copy);
  expect(() => round(logs)).toThrow(/is in use by another process, such as `backup verify`/);
  const target = `${copy}-taken`;
  reader.copyTo(target);
  // The lock stays after the copy.
  expect(() => round(logs)).toThrow(/is in use by another process/);
  reader[Symbol.dispose]();
  round(logs);
  expect(rowsOf(target)[2]).toEqual([{ one: 1, head: 1 }]);
  expect(rowsOf(copy)[2]).toEqual([{ one: 1, head: 2 }]);
  await store.close();
});

/** Writes half of a transaction to the file given, and dies. */
const DIES = `
  const { DatabaseSync } = require("node:sqlite");
  const db = new DatabaseSync(process.argv[1]);
  db.exec("PRAGMA cache_size = 1; PRAGMA cache_spill = 1; BEGIN");
  db.exec("UPDATE events SET data = hex(randomblob(3000))");
  process.kill(process.pid, "SIGKILL");
`;

test("what a killed follower has half written is taken back, by a reader as well", async () => {
  const logs = await copiedLog();
  const { store, source, copy } = logs;
  await mustAppend(
    store,
    "more",
    Array.from({ length: 200 }, () => newEvent()),
    "noStream",
  );
  round(logs);
  await Bun.spawn([process.execPath, "-e", DIES, copy]).exited;
  expect(statSync(`${copy}-journal`).size).toBeGreaterThan(0);
  const target = `${copy}-taken`;
  {
    using reader = CopyReader.open(copy);
    expect(await reader.view().faults("whole")).toEqual([]);
    reader.copyTo(target);
  }
  expect(rowsOf(target)).toEqual(rowsOf(source));
  expect(existsSync(`${copy}-journal`)).toBe(false);
  await store.close();
});

test("a copy that somebody has opened as a log of his own is read and kept on", async () => {
  const logs = await copiedLog();
  const { store, source, copy } = logs;
  await mustAppend(store, "more", [newEvent()], "noStream");
  await openSqliteEventStore({ path: copy }).close();
  {
    using reader = CopyReader.open(copy);
    expect(await reader.view().faults("whole")).toEqual([]);
  }
  await openSqliteEventStore({ path: copy }).close();
  round(logs);
  expect(rowsOf(copy)).toEqual(rowsOf(source));
  await store.close();
});

test("a page that does not follow the copy's head is refused, and nothing of it is kept", async () => {
  const logs = await copiedLog();
  const { store, source, copy } = logs;
  await mustAppend(store, "more", [newEvent(), newEvent()], "noStream");
  using from = SourceLog.open(source);
  const page = from.page(1);
  round(logs);
  using to = LogCopy.open(copy);
  expect(() => to.append(page)).toThrow(/another process writes to the copy/);
  expect(rowsOf(copy)).toEqual(rowsOf(source));
  await store.close();
});

test("a log with a gap or a foreign trigger is not copied", async () => {
  const logs = await copiedLog();
  const { store, source, copy } = logs;
  await mustAppend(store, "more", [newEvent(), newEvent(), newEvent()], "noStream");
  const alter = (sql: string) => {
    using db = new DatabaseSync(source);
    db.exec(sql);
  };
  alter("DELETE FROM events WHERE position = 2");
  expect(() => round(logs)).toThrow(/is not as it was written: it has no event at position 2/);
  alter("CREATE TRIGGER spy AFTER INSERT ON events BEGIN SELECT 1; END");
  expect(() => round(logs)).toThrow(/trigger spy: it is not part of the log's schema/);
  using reader = CopyReader.open(copy);
  expect(await reader.view().faults("whole")).toEqual([]);
  expect(rowsOf(copy)[2]).toEqual([{ one: 1, head: 1 }]);
  const batches = await Array.fromAsync(reader.view().readAll(LOG_START, {}));
  expect(batches.flatMap(({ events }) => events)).toHaveLength(1);
  await store.close();
});
