import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { projections } from "../../projections/index.ts";
import type { Projection, ProjectionTable } from "../../projections/projection.ts";
import { type EventStore, LOG_START } from "../../src/ports/eventStore.ts";
import type { ReadDatabaseFile, SqlRow, SqlValue } from "../../src/ports/readDatabase.ts";
import type { ReadModelStorage } from "../../src/readModels/generations/generationFiles.ts";
import { readMeta } from "../../src/readModels/generations/generationMeta.ts";
import { type Difference, verifyReadModels } from "../../src/readModels/verifyReadModels.ts";
import { openStore } from "../../src/service/adapters/openStore.ts";
import { FULL_WORKSPACE_ENV, fillWorkspace } from "../support/fullWorkspace.ts";
import { startService, type TestService } from "../support/tenants.ts";
import { until } from "../support/until.ts";
import { currentFile, followOnce, unsynced } from "./followFixtures.ts";

/** A change of the live rows, how to take it back, and the key of the row that must then be found. */
interface Plant {
  readonly what: string;
  readonly projection: Projection;
  readonly table: string;
  readonly key: readonly SqlValue[];
  readonly do: readonly Statement[];
  readonly undo: readonly Statement[];
  /** Whether verify must name an event; not for a row that no event wrote. */
  readonly hasEvent: boolean;
}

type Statement = readonly [sql: string, ...values: SqlValue[]];

let service: TestService;
let store: EventStore;
let storage: ReadModelStorage;
beforeAll(async () => {
  service = await startService({ name: "SQLite", env: {}, isShared: false }, FULL_WORKSPACE_ENV);
  for (let workspaces = 0; workspaces < 2; workspaces += 1)
    await fillWorkspace(service, await service.tenant());
  const { dataDir } = service.app;
  const directory = join(dataDir, "projections");
  storage = { databases: unsynced, directory, logId: "" };
  const head = await service.log.store.head();
  await until(
    () => projections.every(({ name }) => live(name, (db) => readMeta(db).checkpoint >= head)),
    "all read models to catch up",
  );
  storage = { ...storage, logId: live("emails", (db) => readMeta(db).logId) };
  await service.app.app.stop();
  store = await openStore({ storeUrl: `file:${dataDir}`, storeTimeoutMs: 5_000 });
  // What the service writes while it stops would repair a planted row.
  await followOnce(storage, store, [...projections]);
}, 60_000);
afterAll(async () => {
  await store.close();
  await service.log.store.close();
  rmSync(service.app.dataDir, { recursive: true, force: true });
});

/** Opens the current rows of a read model for one read or one change. */
function live<Result>(name: string, work: (db: ReadDatabaseFile) => Result): Result {
  const db = storage.databases.open(join(storage.directory, currentFile({ ...storage }, name)), "write");
  try {
    return work(db);
  } finally {
    db.close();
  }
}

function change(name: string, statements: readonly Statement[]): void {
  live(name, (db) => {
    for (const [sql, ...values] of statements) db.run(sql, ...values);
  });
}

async function verify(projection: Projection) {
  const found: Difference[] = [];
  const [result] = await verifyReadModels({
    ...storage,
    store,
    projections: [projection],
    onDifference: (difference) => found.push(difference),
    signal: new AbortController().signal,
  });
  return { result, found };
}

function otherValue(value: SqlValue): SqlValue {
  if (typeof value === "number") return value + 1;
  return value === null ? 1 : `${value}x`;
}

function insert(table: ProjectionTable, row: SqlRow): Statement {
  const columns = Object.keys(row);
  return [
    `INSERT INTO ${table.name} (${columns.join()}) VALUES (${columns.map(() => "?").join()})`,
    ...Object.values(row),
  ];
}

/** Every way to be wrong about a row: each column changed, the row removed, another one added. */
function plantsOn(projection: Projection, table: ProjectionTable, row: SqlRow): readonly Plant[] {
  const key = table.key.map((column) => row[column] ?? null);
  const where = table.key.map((column) => `${column} IS ?`).join(" AND ");
  const shared = { projection, table: table.name, key, hasEvent: true };
  const changes = Object.keys(row)
    .filter((column) => !table.key.includes(column))
    .map((column): Plant => {
      const set = (value: SqlValue): Statement => [
        `UPDATE ${table.name} SET ${column} = ? WHERE ${where}`,
        value,
        ...key,
      ];
      const value = row[column] ?? null;
      return { ...shared, what: `${column} changed`, do: [set(otherValue(value))], undo: [set(value)] };
    });
  const [first = ""] = table.key;
  const extra = { ...row, [first]: otherValue(row[first] ?? null) };
  const extraKey = table.key.map((column) => extra[column] ?? null);
  const remove = (of: readonly SqlValue[]): Statement => [`DELETE FROM ${table.name} WHERE ${where}`, ...of];
  return [
    ...changes,
    { ...shared, what: "removed", do: [remove(key)], undo: [insert(table, row)] },
    {
      ...shared,
      what: "added",
      key: extraKey,
      hasEvent: false,
      do: [insert(table, extra)],
      undo: [remove(extraKey)],
    },
  ];
}

/** Plants on the first and the last row of every table. */
function allPlants(): readonly Plant[] {
  const emptyTables: string[] = [];
  const plants = projections.flatMap((projection) =>
    projection.tables.flatMap((table) => {
      const rows = live(projection.name, (db) =>
        db.all(`SELECT * FROM ${table.name} ORDER BY ${table.key.join()}`),
      );
      if (rows.length === 0) emptyTables.push(table.name);
      return [rows[0], rows.at(-1)].flatMap((row) => (row ? plantsOn(projection, table, row) : []));
    }),
  );
  expect({ leftEmptyByFillWorkspace: emptyTables }).toEqual({ leftEmptyByFillWorkspace: [] });
  return plants;
}

test("verify finds any changed row of any table, names an event, and reports nothing else", async () => {
  const plants = allPlants();
  const missed: string[] = [];
  for (const plant of plants) {
    const { projection, table, key, hasEvent } = plant;
    change(projection.name, plant.do);
    const { result, found } = await verify(projection);
    change(projection.name, plant.undo);
    const [difference] = found;
    const isFound =
      result?.differences === 1 &&
      difference?.table === table &&
      Bun.deepEquals(difference.key, key) &&
      (difference.event !== null) === hasEvent;
    if (!isFound) missed.push(`${projection.name}.${table} ${plant.what}`);
  }
  expect(missed).toEqual([]);
  expect(plants.length).toBeGreaterThan(200);
  for (const projection of projections) {
    expect((await verify(projection)).result).toMatchObject({ differences: 0, failure: null });
  }
}, 240_000);

test("each event that verify names is in the log, in that stream and at that revision", async () => {
  change("emails", [["UPDATE emails SET reason = 'planted', updated_at = 'planted'"]]);
  const { result, found } = await verify(projections.find(({ name }) => name === "emails") as Projection);
  expect(found.length).toBe(result?.differences ?? 0);
  expect(found.length).toBeGreaterThan(10);
  const events = new Map<string, string>();
  for await (const batch of store.readAll(LOG_START, {})) {
    for (const { stream, revision, type, metadata } of batch.events)
      events.set(`${stream} ${revision}`, `${type} ${metadata.at}`);
  }
  for (const { event, key, rebuilt } of found) {
    expect(event?.stream).toBe(`email-${key[0]}`);
    expect(`${event?.type} ${event?.at}`).toBe(events.get(`${event?.stream} ${event?.revision}`) ?? "");
    expect(event?.at).toBe(String(rebuilt?.updated_at));
  }
  expect(readdirSync(storage.directory).filter((file) => file.startsWith("scratch"))).toEqual([]);
});
