import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { getPriority } from "node:os";
import { join } from "node:path";
import { emails } from "../../../projections/emails/emails.ts";
import { projections } from "../../../projections/index.ts";
import { createLogger } from "../../../src/adapters/pino/logger.ts";
import { sqliteReadDatabases } from "../../../src/adapters/sqlite/readModelDatabases.ts";
import { readMeta } from "../../../src/readModels/generations/generationMeta.ts";
import { lastVerifications } from "../../../src/readModels/listReadModels.ts";
import { readConfig } from "../../../src/service/config/config.ts";
import { verifyOnSchedule } from "../../../src/service/threads/readModelVerifySchedule.ts";
import { currentFile } from "../../readModels/followFixtures.ts";
import { runProgram } from "../../support/process/runCommand.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, startService, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

/** The thread that verifies has the lowest priority, so beside other files it hardly gets a turn. */
const RUN_MS_MAX = 300_000;
const TEST_MS_MAX = 2 * RUN_MS_MAX;
const OWN_PRIORITY = getPriority(0);

/** Keeps what a schedule logs. */
function scheduleLog() {
  const lines = { error: [] as unknown[], info: [] as unknown[], warn: [] as { reason: string }[] };
  const logger = {
    error: (facts: unknown) => lines.error.push(facts),
    info: (facts: unknown) => lines.info.push(facts),
    warn: (facts: { reason: string }) => lines.warn.push(facts),
  };
  return { ...lines, logger: logger as unknown as Parameters<typeof verifyOnSchedule>[1] };
}

describe.each(await testStores())("read models are verified on a schedule, on $name", (store) => {
  let service: TestService;
  let logId: string;
  const directory = () => join(service.app.dataDir, "projections");
  const recorded = () => lastVerifications(sqliteReadDatabases, directory());

  /** Opens the live rows of the messages behind the service's back. */
  function live<Result>(work: (db: ReturnType<typeof sqliteReadDatabases.open>) => Result): Result {
    const storage = { databases: sqliteReadDatabases, directory: directory(), logId: "" };
    const db = sqliteReadDatabases.open(join(directory(), currentFile(storage, "emails")), "write");
    try {
      return work(db);
    } finally {
      db.close();
    }
  }

  beforeAll(async () => {
    service = await startService(store, { PROJECTION_VERIFY_INTERVAL_HOURS: "1" });
    logId = live((db) => readMeta(db).logId);
  }, TEST_MS_MAX);
  afterAll(() => service.remove());

  test(
    "as configured: the first time at once, and doctor shows what was found",
    async () => {
      await until(() => recorded().length === projections.length, "the first verification", RUN_MS_MAX);
      expect(recorded().filter(({ differences, failure }) => differences > 0 || failure !== null)).toEqual(
        [],
      );
      const { out } = await runProgram(["doctor"], service.app.dataDir, store.env);
      expect(out).toMatch(/ok {7}verification of the read models: (\d+) of \1 verified/);
      // Its thread alone is behind others.
      expect(getPriority(0)).toBe(OWN_PRIORITY);
    },
    TEST_MS_MAX,
  );

  test(
    "again and again, one run at a time, and a difference is found and kept",
    async () => {
      const tenant = await service.tenant();
      const { json } = await tenant.send(newKey(), message());
      const rowOf = (db: ReturnType<typeof sqliteReadDatabases.open>) =>
        db.get(`SELECT status FROM ${emails.name} WHERE id = ?`, json.id)?.status;
      await until(() => live(rowOf) === "queued", "the message's row");
      live((db) => db.run("UPDATE emails SET status = 'sent' WHERE id = ?", json.id));
      const { STORE_URL: storeUrl = `file:${service.app.dataDir}` } = store.env;
      const log = scheduleLog();
      const start = { storeUrl, storeTimeoutMs: 5_000, dataDir: service.app.dataDir, logId };
      const verifying = verifyOnSchedule({ verifyIntervalMs: 20 }, log.logger, start);
      await until(() => log.info.length >= 2, "two runs", RUN_MS_MAX);
      await verifying.stop();
      expect(log.warn).toEqual([]);
      expect(log.error).toEqual(log.info.map(() => ({ readModel: "emails", differences: 1 })));
      expect(recorded().find(({ name }) => name === "emails")).toMatchObject({ differences: 1 });
    },
    TEST_MS_MAX,
  );
});

test(
  "a failed run is reported and retried later; stopping ends a run",
  async () => {
    const log = scheduleLog();
    const start = { storeUrl: "file:/dev/null/no", storeTimeoutMs: 100, dataDir: "/dev/null/no", logId: "x" };
    const verifying = verifyOnSchedule({ verifyIntervalMs: 20 }, log.logger, start);
    await until(() => log.warn.length >= 2, "two attempts", RUN_MS_MAX);
    await verifying.stop();
    expect(log.warn[0]?.reason).toContain("events.db was removed");
  },
  TEST_MS_MAX,
);

test("is off unless it is set", async () => {
  const config = readConfig({ DATA_DIR: "/dev/null/no" });
  const start = { storeUrl: "file:/dev/null/no", storeTimeoutMs: 100, dataDir: "/dev/null/no", logId: "x" };
  await verifyOnSchedule(config, createLogger("silent"), start).stop();
  expect(config.verifyIntervalMs).toBe(0);
  expect(readConfig({ PROJECTION_VERIFY_INTERVAL_HOURS: "24" }).verifyIntervalMs).toBe(24 * 3_600_000);
  expect(() => readConfig({ PROJECTION_VERIFY_INTERVAL_HOURS: "0.5" })).toThrow(
    "PROJECTION_VERIFY_INTERVAL_HOURS",
  );
});
