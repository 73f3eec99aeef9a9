import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { blankTruncatedRows } from "../../../src/adapters/sqlite/blankTruncatedRows.ts";
import { openLogDatabase } from "../../../src/adapters/sqlite/openLogDatabase.ts";
import { openSqliteEventStore } from "../../../src/adapters/sqlite/sqliteEventStore.ts";
import { newEvent } from "../../contract/eventStore.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";

const folder = temporaryFolder();

const MESSAGES = 2_000;
const CACHE_KIB = 4_096;
/** The lengths of content that make for leaf pages with many rows, few rows, and rows that spill over. */
const LENGTHS = [300, 1_500, 9_000];

/** Makes a log whose messages' content and later events are interleaved. Returns the marker of each content. */
function createDatabase(path: string, lengthMax: number, random: () => number) {
  const db = openLogDatabase(path, { cacheKib: CACHE_KIB });
  const stream = db.prepare("INSERT INTO streams (id, name, revision) VALUES (?, ?, 1)");
  const event = db.prepare("INSERT INTO events VALUES (?, ?, ?, ?, ?, '{}', ?)");
  const markers: string[] = [];
  db.exec("BEGIN");
  for (let id = 1; id <= MESSAGES; id += 1) {
    const marker = `<${crypto.randomUUID()}>`;
    const data = marker + "z".repeat(Math.floor(random() * lengthMax)) + marker;
    stream.run(id, `email-${id}`);
    event.run(id * 2 - 1, id, 0, crypto.randomUUID(), "EmailContentStored", data);
    event.run(id * 2, id, 1, crypto.randomUUID(), "EmailQueued", "q".repeat(400));
    markers.push(marker);
  }
  db.exec("COMMIT");
  return { db, markers };
}

/** Pseudo-random numbers in [0, 1), the same in every run. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

describe("truncated content in a log file", () => {
  /** Erases 70% of all content in random order; returns how many erased markers are still in the file. */
  const countReadable = (seed: number, erase: (db: DatabaseSync, id: number) => void): number => {
    const random = seeded(seed);
    const path = join(folder, `${crypto.randomUUID()}.db`);
    const { db, markers } = createDatabase(path, LENGTHS[seed % LENGTHS.length] ?? 0, random);
    db.exec("PRAGMA synchronous = OFF");
    const erased: string[] = [];
    const order = markers.map((marker, index) => ({ marker, id: index + 1, at: random() }));
    for (const { marker, id } of order.sort((a, b) => a.at - b.at)) {
      if (random() > 0.7) continue;
      erase(db, id);
      erased.push(marker);
    }
    db.prepare("PRAGMA wal_checkpoint(TRUNCATE)").get();
    db.close();
    const found = new Set(readFileSync(path, "latin1").match(/<[0-9a-f-]{36}>/g));
    const remaining = markers.filter((marker) => !erased.includes(marker));
    expect(remaining.every((marker) => found.has(marker))).toBe(true);
    return erased.filter((marker) => found.has(marker)).length;
  };
  const SEEDS = [1, 2, 3, 4, 5, 6];

  test("cannot be read in any page, wherever its neighbours moved", () => {
    const blanked = SEEDS.map((seed) =>
      countReadable(seed, (db, id) => blankTruncatedRows(db, `email-${id}`, 1)),
    );
    expect(blanked).toEqual(SEEDS.map(() => 0));
  }, 60_000);

  test("could be read if its row were deleted instead", () => {
    let found = 0;
    for (let seed = 1; seed <= 60 && found === 0; seed += 1) {
      const remove = "DELETE FROM events WHERE stream = ? AND revision < 1";
      found += countReadable(seed, (db, id) => db.prepare(remove).run(id));
    }
    expect(found).toBeGreaterThan(0);
  }, 60_000);
});

test("a purge reports the write-ahead log until the last reader of old pages has left", async () => {
  const path = join(folder, "held.db");
  const store = openSqliteEventStore({ path });
  await store.append("email-1", [newEvent(), newEvent()], "noStream");
  const reader = new DatabaseSync(path);
  reader.exec("BEGIN");
  reader.prepare("SELECT count(*) FROM events").get();
  await store.truncateBefore("email-1", 1);
  const { remains } = await store.purge({ timeoutMs: 100 });
  expect(remains).toEqual([expect.stringContaining("write-ahead log")]);
  reader.exec("COMMIT");
  expect(await store.purge()).toEqual({ remains: [] });
  reader.close();
  await store.close();
});
