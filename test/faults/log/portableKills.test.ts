import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readLines } from "../../../src/adapters/durableFiles/compressedLineFile.ts";
import { openSqliteEventStore } from "../../../src/adapters/sqlite/sqliteEventStore.ts";
import { askRunningService } from "../../../src/cli/service/askRunningService.ts";
import { checkExport } from "../../../src/commands/log/importLog.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { LOG_START } from "../../../src/ports/eventStore.ts";
import { runJsonCommand, startJsonCommand } from "../../support/process/jsonCommand.ts";
import type { CommandResult } from "../../support/process/runCommand.ts";
import { startTestProcess, type TestProcess } from "../../support/service.ts";
import { until } from "../../support/until.ts";
import { Load } from "../crash/load.ts";
import { startRawSink } from "../crash/rawSink.ts";

const MS_MAX = 120_000;
const KILLS = 3;
/** So many that every command runs for a while. */
const STREAMS = 2_000;
const FILES = 60;
const STREAMS_TRUNCATED = 100;

type Environment = Readonly<Record<string, string>>;

let folder: string;
let source: Environment;
let sourceIds: readonly string[];
/** How long these take without a kill. */
let backupMs: number;
let exportMs: number;

const backupTo = (name: string) => ["backup", "create", "--with-key", "--out", join(folder, name)];
const exportTo = (name: string) => ["log", "export", "--out", join(folder, name)];

/** The events of a log, but for those that note that a copy is taken. */
async function idsOf(dataDir: string): Promise<readonly string[]> {
  const store = openSqliteEventStore({ path: join(dataDir, "events.db") });
  const ids: string[] = [];
  for await (const { events } of store.readAll(LOG_START, {}))
    ids.push(...events.filter(({ type }) => type !== "InstanceCopied").map(({ id }) => id));
  await store.close();
  return ids;
}

/** A log with many streams, some of them cut off, and much content. */
async function fill(dataDir: string): Promise<void> {
  const store = openSqliteEventStore({ path: join(dataDir, "events.db") });
  const event = () => ({
    id: newId(),
    type: "Filler",
    data: { text: "x".repeat(300) },
    metadata: { at: "2030" },
  });
  const names = Array.from({ length: STREAMS }, () => `quota-${newId()}`);
  await Promise.all(names.map((name) => store.append(name, [event(), event()], "noStream")));
  await Promise.all(names.slice(0, STREAMS_TRUNCATED).map((name) => store.truncateBefore(name, 1)));
  await store.close();
  for (let index = 0; index < FILES; index += 1) {
    const bytes = crypto.getRandomValues(new Uint8Array(20_000));
    const sha256 = new Bun.CryptoHasher("sha256").update(bytes).digest("hex");
    await Bun.write(join(dataDir, "content", newId(), newId(), newId(), sha256), bytes);
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "postledger-kills-"));
  source = { DATA_DIR: join(folder, "source") };
  // The first command makes the log.
  expect(await runJsonCommand(source, "workspace", "create", "first")).toMatchObject({ exitCode: 0 });
  await fill(source.DATA_DIR ?? "");
  sourceIds = await idsOf(source.DATA_DIR ?? "");
  backupMs = await timed(() => runJsonCommand(source, ...backupTo("whole")));
  exportMs = await timed(() => runJsonCommand(source, ...exportTo("log.zst")));
}, MS_MAX);
afterAll(() => rm(folder, { recursive: true, force: true }), MS_MAX);

/** Runs a command and kills it, each time at a later moment of its usual duration. */
async function killed(env: Environment, tookMs: number, kill: number, words: readonly string[]) {
  const command = startJsonCommand(env, ...words);
  const timer = setTimeout(() => command.kill(), (tookMs * (kill + 0.7)) / KILLS);
  const result = await command.result;
  clearTimeout(timer);
  return result;
}

async function timed(work: () => Promise<CommandResult>): Promise<number> {
  const startedAt = performance.now();
  expect(await work()).toMatchObject({ exitCode: 0, err: "" });
  return performance.now() - startedAt;
}

describe("kill -9", () => {
  test(
    "during backup create leaves no partial backup under its name, and the next one works",
    async () => {
      for (let kill = 0; kill < KILLS; kill += 1) {
        const name = `killed-${kill}`;
        await killed(source, backupMs, kill, backupTo(name));
        const exists = existsSync(join(folder, name));
        if (!exists) expect(await runJsonCommand(source, ...backupTo(name))).toMatchObject({ exitCode: 0 });
        expect(await runJsonCommand(source, "backup", "verify", join(folder, name))).toMatchObject({
          exitCode: 0,
        });
      }
    },
    MS_MAX,
  );

  test(
    "during backup restore leaves a directory that nothing starts on, and repeating the restore completes it",
    async () => {
      const backup = join(folder, "whole");
      const into = (name: string): Environment => ({ DATA_DIR: join(folder, name) });
      const tookMs = await timed(() => runJsonCommand(into("restored"), "backup", "restore", backup));
      for (let kill = 0; kill < KILLS; kill += 1) {
        const env = into(`restore-${kill}`);
        const { exitCode } = await killed(env, tookMs, kill, ["backup", "restore", backup]);
        const dataDir = env.DATA_DIR ?? "";
        if (existsSync(join(dataDir, "restoring"))) {
          const refused = await runJsonCommand(env, "workspace", "create", "early");
          expect(refused).toMatchObject({ exitCode: 2, err: expect.stringContaining("interrupted") });
        }
        const isDone =
          exitCode === 0 ||
          (existsSync(join(dataDir, "events.db")) && !existsSync(join(dataDir, "restoring")));
        if (!isDone)
          expect(await runJsonCommand(env, "backup", "restore", backup)).toMatchObject({ exitCode: 0 });
        // The earlier events, and one for the restoration.
        const ids = await idsOf(dataDir);
        expect(ids.slice(0, -1)).toEqual([...sourceIds]);
      }
      const repeated = await runJsonCommand(into("restored"), "backup", "restore", backup);
      expect(repeated).toMatchObject({ exitCode: 1, err: expect.stringContaining("not empty") });
    },
    MS_MAX,
  );

  test(
    "during log export leaves no partial file under its name",
    async () => {
      for (let kill = 0; kill < KILLS; kill += 1) {
        const out = join(folder, `log-${kill}.zst`);
        await killed(source, exportMs, kill, exportTo(`log-${kill}.zst`));
        if (existsSync(out)) await checkExport(() => readLines(out));
      }
      const { end } = await checkExport(() => readLines(join(folder, "log.zst")));
      // It records itself, and so did the backup before it.
      expect(end).toMatchObject({ events: sourceIds.length + 2, missing: STREAMS_TRUNCATED });
    },
    MS_MAX,
  );

  test(
    "during log import leaves a log that nothing starts on, and repeating the import completes it",
    async () => {
      const file = join(folder, "log.zst");
      const into = async (name: string): Promise<Environment> => {
        const dataDir = join(folder, name);
        await mkdir(dataDir);
        for (const part of ["master.key", "content"]) {
          await cp(join(source.DATA_DIR ?? "", part), join(dataDir, part), { recursive: true });
        }
        return { DATA_DIR: dataDir };
      };
      const imported = await into("imported");
      const tookMs = await timed(() => runJsonCommand(imported, "log", "import", file));
      for (let kill = 0; kill < KILLS; kill += 1) {
        const env = await into(`import-${kill}`);
        const first = await killed(env, tookMs, kill, ["log", "import", file]);
        if (first.exitCode !== 0) {
          const { json } = await runJsonCommand(env, "doctor");
          const checks = json as readonly { name: string; status: string }[] | null;
          // It may have been killed when only its report was missing, or before there was a log.
          const isOpen = checks?.some(({ name, status }) => name === "log" && status === "ok");
          if (!isOpen)
            expect(await runJsonCommand(env, "log", "import", file)).toMatchObject({ exitCode: 0 });
        }
        const ids = await idsOf(env.DATA_DIR ?? "");
        const own = new Set(sourceIds);
        expect(ids.filter((id) => own.has(id))).toEqual([...sourceIds]);
      }
    },
    MS_MAX,
  );
});

/** Far longer than a test may take: an export that waits for these instead of work in flight fails it. */
const LONG_BOUNDS = { REQUEST_TIMEOUT_MS: "600000", DRAIN_TIMEOUT_MS: "600000" };

describe("a freeze under load", () => {
  test(
    "waits only for the delivery in flight, which is in the export with its outcome",
    async () => {
      const sink = await startRawSink();
      const dataDir = join(folder, "delivering");
      const env = { ...LONG_BOUNDS, SMTP_URL: `smtp://127.0.0.1:${sink.port}?tls=none` };
      const service = await startTestProcess({ dataDir, env });
      try {
        const finalReply = Promise.withResolvers<undefined>();
        const holding = Promise.withResolvers<void>();
        sink.onStage = (stage) => {
          if (stage !== "final") return undefined;
          holding.resolve();
          return finalReply.promise;
        };
        const mail = { from: "hello@example.com", to: "a@example.net", subject: "Held", text: "Hello." };
        const { id } = (await service.send("held-by-the-relay", mail)).json;
        await holding.promise;
        const out = join(folder, "delivered.zst");
        const exporting = startJsonCommand(
          { ...env, DATA_DIR: dataDir },
          "log",
          "export",
          "--freeze",
          "--out",
          out,
        );
        const isRefused = async () => (await service.call("GET", "/api/v1/emails")).status === 503;
        await until(isRefused, "the service to refuse sends");
        // The export gets the same answer.
        const status = { kind: "answered" as const, body: false };
        expect(await askRunningService(dataDir, "/settled", 5_000)).toEqual(status);
        finalReply.resolve(undefined);
        expect(await exporting.result).toMatchObject({ exitCode: 0, err: "", json: { frozen: true } });
        const lines: string[] = [];
        for await (const page of readLines(out)) lines.push(...page);
        expect(lines.filter((line) => line.includes(`"email-${id}"`)).join("\n")).toContain('"EmailSent"');
      } finally {
        await service.kill("SIGKILL");
        await sink.close();
      }
    },
    MS_MAX,
  );

  test(
    "is noticed by the running service, and every 202 is in the export",
    async () => {
      const env = { ...LONG_BOUNDS, SMTP_URL: "outbox:" };
      const dataDir = join(folder, "loaded");
      const start = (): Promise<TestProcess> => startTestProcess({ dataDir, env });
      const service = await start();
      const load = new Load({ posters: 4, backlog: () => 0 });
      load.setTarget(service);
      load.start();
      await until(
        () => load.posts.filter(({ receipt }) => receipt !== null).length > 20,
        "some mail to be accepted",
      );
      const out = join(folder, "frozen.zst");
      const exporting = runJsonCommand(
        { ...env, DATA_DIR: dataDir },
        "log",
        "export",
        "--freeze",
        "--out",
        out,
      );
      await until(() => load.unavailable > 0, "the service to refuse sends");
      const exported = await exporting;
      expect(exported).toMatchObject({ exitCode: 0, err: "", json: { frozen: true } });
      await load.stop();
      expect(load.problems).toEqual([]);
      const lines: string[] = [];
      for await (const page of readLines(out)) lines.push(...page);
      const text = lines.join("\n");
      const accepted = load.posts.flatMap(({ receipt }) => (receipt === null ? [] : [receipt.id]));
      expect(accepted.length).toBeGreaterThan(20);
      expect(accepted.filter((id) => !text.includes(`"email-${id}","revision":1,`))).toEqual([]);
      const ready = await service.call("GET", "/health/ready");
      expect(ready).toMatchObject({ status: 503, json: { checks: { seal: { ok: false, required: true } } } });
      expect((await service.call("GET", "/api/v1/emails")).status).toBe(503);
      await service.kill("SIGTERM");

      const unfrozen = await runJsonCommand({ ...env, DATA_DIR: dataDir }, "log", "unfreeze");
      expect(unfrozen).toMatchObject({ exitCode: 0, json: { outcome: "unfrozen" } });
      const repeated = await start();
      load.setTarget(repeated);
      expect(await load.request(load.newPost())).toBe(true);
      await repeated.kill("SIGTERM");
      expect(await readFile(join(dataDir, "bootstrap.key"), "utf8")).not.toBe("");
    },
    MS_MAX,
  );
});
