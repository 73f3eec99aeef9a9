import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { projections } from "../../../projections/index.ts";
import { sqliteReadDatabases } from "../../../src/adapters/sqlite/readModelDatabases.ts";
import type { EventStore } from "../../../src/ports/eventStore.ts";
import type { ReadDatabaseFile } from "../../../src/ports/readDatabase.ts";
import { compareTable, type RowDifference } from "../../../src/readModels/compareTables.ts";
import { currentFile, followOnce } from "../../readModels/followFixtures.ts";

/** All read models of a log, newly built, open for reading. */
export interface BuiltReadModels {
  readonly databases: ReadonlyMap<string, ReadDatabaseFile>;
  remove(): void;
}

export async function buildReadModels(store: EventStore): Promise<BuiltReadModels> {
  const directory = mkdtempSync(join(tmpdir(), "rows-"));
  const storage = { databases: sqliteReadDatabases, directory, logId: "log", remove: () => {} };
  await followOnce(storage, store, [...projections]);
  const opened = projections.map(({ name }) => {
    return [name, sqliteReadDatabases.open(join(directory, currentFile(storage, name)), "read")] as const;
  });
  return {
    databases: new Map(opened),
    remove() {
      for (const [, db] of opened) db.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

/** How many rows two logs' read models have between them, and in which they differ. */
export function compareReadModels(one: BuiltReadModels, other: BuiltReadModels) {
  const differences: RowDifference[] = [];
  const rows = new Map<string, number>();
  for (const { name, tables } of projections) {
    const [left, right] = [one.databases.get(name), other.databases.get(name)];
    if (!left || !right) throw new Error(`the read model ${name} was not built`);
    for (const table of tables) {
      const tableDifferences = [...compareTable(left, right, table)];
      rows.set(`${name} ${table.name}`, tableDifferences.length);
      differences.push(...tableDifferences.filter((difference) => difference !== null));
    }
  }
  return { differences, rows };
}
