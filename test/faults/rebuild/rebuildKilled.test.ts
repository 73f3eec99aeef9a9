import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sqliteReadDatabases } from "../../../src/adapters/sqlite/readModelDatabases.ts";
import type { EventStore } from "../../../src/ports/eventStore.ts";
import { databaseFiles, rowsOf } from "../../readModels/followFixtures.ts";
import { testStores } from "../../support/stores/stores.ts";
import { until } from "../../support/until.ts";
import { foldSums, openTallyStore, tallyOf, writeTallyLog } from "./rebuildLog.ts";

const EVENTS = 16_000;
const KILLS = 3;
/** Somewhere between one save and the next ones. */
const KILL_AFTER_MS_MAX = 40;
const START_MS_MAX = 50_000;

describe.each(await testStores())("a rebuild killed by the system, on $name", ({ env }) => {
  const run = crypto.randomUUID();
  const directory = mkdtempSync(join(tmpdir(), "read-models-"));
  const storeUrl = env.STORE_URL ?? `file:${directory}/log`;
  let store: EventStore;
  beforeAll(async () => {
    store = await openTallyStore(storeUrl);
    await writeTallyLog(store, run, EVENTS);
  }, 60_000);
  afterAll(async () => {
    await store.close();
    rmSync(directory, { recursive: true, force: true });
  });

  const savedAt = () => {
    const saved = readdirSync(directory).find((file) => file.endsWith(".saved"));
    return saved === undefined
      ? 0
      : (statSync(join(directory, saved), { throwIfNoEntry: false })?.mtimeMs ?? 0);
  };

  function rebuild() {
    return Bun.spawn([process.execPath, join(import.meta.dir, "rebuildRun.ts"), directory, run], {
      env: { ...process.env, STORE_URL: storeUrl },
      stdin: "ignore",
      stdout: "pipe",
      stderr: "inherit",
    });
  }

  test(
    "resumes from its last saved file, and ends with the rows of the log",
    async () => {
      let killed = 0;
      for (let attempt = 0; attempt < KILLS; attempt += 1) {
        const before = savedAt();
        const child = rebuild();
        await until(
          () => child.exitCode !== null || savedAt() > before,
          "something to be saved",
          START_MS_MAX,
        );
        await Bun.sleep(Math.random() * KILL_AFTER_MS_MAX);
        child.kill("SIGKILL");
        await child.exited;
        if (child.signalCode === "SIGKILL") killed += 1;
      }
      expect(killed).toBeGreaterThan(0);
      const last = rebuild();
      const [result] = JSON.parse(await new Response(last.stdout).text());
      expect(result.outcome).toBe("current");
      const storage = { databases: sqliteReadDatabases, directory, logId: "log-1" };
      expect(rowsOf(storage, tallyOf(run)).tally).toEqual(await foldSums(store, run));
      expect(databaseFiles(storage)).toEqual([result.file]);
      if (killed === KILLS) expect(result.resumedFrom).not.toBeNull();
    },
    8 * START_MS_MAX,
  );
});
