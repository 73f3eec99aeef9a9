import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readModelDatabases.ts";
import type { Position } from "../../src/ports/eventStore.ts";
import { openReaders } from "../../src/readModels/readModelReaders.ts";

const directory = mkdtempSync(join(tmpdir(), "readers-"));
afterAll(() => rmSync(directory, { recursive: true }));

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
