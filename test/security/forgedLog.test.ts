import { describe, expect, test } from "bun:test";
import { copyFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { sqliteReadDatabases } from "../../src/adapters/sqlite/readModelDatabases.ts";
import { verifyLog } from "../../src/commands/audit/verify/verifyLog.ts";
import { AUDIT_STREAM } from "../../src/domain/audit/events.ts";
import { locationOfFault } from "../../src/ports/eventStore.ts";
import { AuditedLog, type LogAction, logActions, withLogAt } from "../support/auditedLog.ts";
import { FILE_FORGERIES, type Forgery } from "../support/files/forgedFiles.ts";
import { type Row, rowsOf, seededPick } from "../support/logTampering.ts";
import { temporaryFolder } from "../support/temporaryFolder.ts";

const TEST_MS_MAX = 120_000;
/** Logs that each kind of forgery is tried on, each grown from histories of its own. */
const LOGS = 3;
const KINDS_MIN = 40;

const folder = temporaryFolder();

function fresh(): string {
  return join(folder, `${crypto.randomUUID()}.db`);
}

/** The places of all findings of a verification. */
async function foundIn(path: string): Promise<readonly string[]> {
  const result = await withLogAt(path, (store) =>
    verifyLog({
      store,
      databases: sqliteReadDatabases,
      temporaryPath: fresh(),
      trusted: [],
      kept: null,
      signal: new AbortController().signal,
    }),
  );
  return result.shown.map(locationOfFault);
}

/** Everything that a log may hold, so that every kind of forgery finds something to forge. */
const ALL_ACTIONS: readonly LogAction[] = [
  { kind: "key", at: 1 },
  { kind: "send", length: 10, suppressed: false },
  { kind: "send", length: 10, suppressed: true },
  { kind: "deliver", at: 0 },
  { kind: "erase", at: 0 },
  { kind: "suppress", at: 0 },
  { kind: "upload", at: 0 },
  { kind: "restore" },
];

interface Log {
  readonly path: string;
  readonly rows: readonly Row[];
}

/** A generated log, sealed to its end. */
async function generated(seed: number): Promise<Log> {
  const path = fresh();
  await withLogAt(path, async (store) => {
    const log = new AuditedLog(store);
    await log.play(ALL_ACTIONS);
    for (const history of fc.sample(logActions, { numRuns: 3, seed })) {
      await log.play(history.filter((action) => action.kind !== "send" || action.length < 100_000));
    }
    await log.seal();
  });
  return { path, rows: rowsOf(path).filter(({ name }) => name !== AUDIT_STREAM) };
}

describe("a forged file", async () => {
  const logs = await Promise.all(Array.from({ length: LOGS }, (_, seed) => generated(seed + 1)));

  test.each(Object.entries(FILE_FORGERIES))(
    "with %s is detected, and the forged part is named",
    async (_, forge: Forgery) => {
      let forged = 0;
      for (const [index, { path, rows }] of logs.entries()) {
        const copy = fresh();
        copyFileSync(path, copy);
        const planted = forge({ path: copy, rows, pick: seededPick(index + 1) });
        if (planted !== null) {
          forged += 1;
          expect(await foundIn(copy)).toEqual(expect.arrayContaining([...planted]));
        }
        rmSync(copy);
      }
      expect(forged).toBeGreaterThan(0);
    },
    TEST_MS_MAX,
  );

  test("comes in at least the minimum number of kinds", () => {
    expect(Object.keys(FILE_FORGERIES).length).toBeGreaterThanOrEqual(KINDS_MIN);
  });

  test("is not reported where nothing was forged", async () => {
    for (const { path } of logs) expect(await foundIn(path)).toEqual([]);
  });
});
