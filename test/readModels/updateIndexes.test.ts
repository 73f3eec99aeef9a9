import { afterEach, beforeEach, expect, test } from "bun:test";
import { join } from "node:path";
import type { Projection } from "../../projections/projection.ts";
import { memoryEventStore } from "../support/stores/memoryEventStore.ts";
import {
  appendMany,
  currentFile,
  databaseFiles,
  foldTally,
  followOnce,
  newStorage,
  rowsOf,
  tally,
} from "./followFixtures.ts";

let storage: ReturnType<typeof newStorage>;
beforeEach(() => {
  storage = newStorage();
});
afterEach(() => storage.remove());

/** The projection with other indexes on its first table, at the same version. */
function withIndexes(projection: Projection, indexes: readonly string[]): Projection {
  const [first, ...others] = projection.tables;
  if (!first) throw new Error(`${projection.name} has no table`);
  return { ...projection, tables: [{ ...first, indexes }, ...others] };
}

function indexesOf(projection: Projection): readonly string[] {
  const db = storage.databases.open(join(storage.directory, currentFile(storage, projection.name)), "read");
  const rows = db.all("SELECT sql FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL ORDER BY name");
  db.close();
  return rows.map(({ sql }) => String(sql));
}

const BY_COUNT = "CREATE INDEX tally_by_count ON tally (count)";
const BY_SUM = "CREATE INDEX tally_by_sum ON tally (sum)";
const BY_SUM_AND_COUNT = "CREATE INDEX tally_by_sum ON tally (sum, count)";

test.each([
  ["an added index is made", [BY_SUM], [BY_COUNT, BY_SUM]],
  ["a changed index is made again", [BY_SUM], [BY_SUM_AND_COUNT]],
  ["an index that is not declared any more is dropped", [BY_COUNT, BY_SUM], [BY_COUNT]],
] as const)("%s in the file that is there", async (_name, before, after) => {
  const store = memoryEventStore();
  await appendMany(store, 25);
  await followOnce(storage, store, [withIndexes(tally, before)]);
  const files = databaseFiles(storage);
  await followOnce(storage, store, [withIndexes(tally, after)]);
  expect(databaseFiles(storage)).toEqual(files);
  expect(indexesOf(tally)).toEqual(after);
  expect(rowsOf(storage, tally)).toEqual(await foldTally(store));
});

test("indexes that match their declaration are left alone", async () => {
  const store = memoryEventStore();
  await appendMany(store, 5);
  const reformatted = withIndexes(tally, ["CREATE INDEX tally_by_sum\n   ON tally (sum)"]);
  await followOnce(storage, store, [reformatted]);
  const path = join(storage.directory, currentFile(storage, tally.name));
  const schemaVersion = () => {
    const db = storage.databases.open(path, "read");
    const row = db.get("PRAGMA schema_version");
    db.close();
    return row?.schema_version;
  };
  const before = schemaVersion();
  await followOnce(storage, store, [reformatted]);
  expect(schemaVersion()).toBe(before);
});
