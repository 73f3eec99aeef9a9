import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { copyFile, cp, mkdir, mkdtemp, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { readLines } from "../../../src/adapters/durableFiles/compressedLineFile.ts";
import { connectEventStoreDb } from "../../../src/adapters/eventstoredb/eventStoreDb.ts";
import { registeredServices } from "../../../src/commands/instance/registerService.ts";
import type { EventStore } from "../../../src/ports/eventStore.ts";
import { runJsonCommand, startJsonCommand } from "../../support/process/jsonCommand.ts";
import type { CommandResult } from "../../support/process/runCommand.ts";
import { startTestProcess, type TestProcess } from "../../support/service.ts";
import {
  canStartEventStoreDb,
  type OwnServer,
  startEventStoreDb,
} from "../../support/stores/eventstoredb.ts";
import { until } from "../../support/until.ts";
import { Load } from "../crash/load.ts";
import { type RawSink, startRawSink } from "../crash/rawSink.ts";

const TEST_MS_MAX = 180_000;
const KEY_FILE = "bootstrap.key";
const DELIVERED_MS_MAX = 60_000;
const ACCEPTED_MS_MAX = 60_000;
const ACCEPTED_MIN = 5;
/** Far longer than a test may take: an export that waits for these instead of work in flight fails it. */
const LONG_BOUNDS = { REQUEST_TIMEOUT_MS: "600000", DRAIN_TIMEOUT_MS: "600000" };
/** So short that waiting for these leaves time to notice the freeze. */
const SHORT_BOUNDS = { REQUEST_TIMEOUT_MS: "1000", DRAIN_TIMEOUT_MS: "1000" };

type Settings = Readonly<Record<string, string>>;

/** An export's lines. */
async function textOf(file: string): Promise<string> {
  const lines: string[] = [];
  for await (const page of readLines(file)) lines.push(...page);
  return lines.join("\n");
}

describe.skipIf(!canStartEventStoreDb)("an export that freezes a log on EventStoreDB", () => {
  let server: OwnServer;
  let store: EventStore;
  let sink: RawSink;
  let root: string;
  let env: Settings;
  const running: TestProcess[] = [];

  beforeAll(async () => {
    server = await startEventStoreDb();
    store = await connectEventStoreDb({ url: server.url, timeoutMs: 10_000 });
    sink = await startRawSink();
    root = await mkdtemp(join(tmpdir(), "postledger-freeze-"));
    env = {
      STORE_URL: server.url,
      CONTENT_URL: `file:${join(root, "content")}`,
      MASTER_KEY: crypto.getRandomValues(new Uint8Array(32)).toBase64(),
      SMTP_URL: `smtp://127.0.0.1:${sink.port}?tls=none`,
      BOOTSTRAP: "on",
    };
  }, TEST_MS_MAX);

  afterAll(async () => {
    await Promise.all(running.map((service) => service.kill("SIGKILL")));
    await store?.close();
    await sink?.close();
    await server?.process.kill();
    await rm(root, { recursive: true, force: true });
  });

  /** The first one makes the key; the others are called with the same. */
  async function start(name: string): Promise<TestProcess> {
    const dataDir = join(root, name);
    await mkdir(dataDir, { recursive: true });
    if (name !== "first") await copyFile(join(root, "first", KEY_FILE), join(dataDir, KEY_FILE));
    const service = await startTestProcess({ dataDir, env: { ...env, ...LONG_BOUNDS } });
    running.push(service);
    return service;
  }

  function exportTo(name: string, bounds: Settings): Promise<CommandResult> {
    const words = ["log", "export", "--freeze", "--out", join(root, name)];
    return startJsonCommand({ ...env, ...bounds, DATA_DIR: join(root, "first") }, ...words).result;
  }

  const runningDataDirs = async () =>
    (await registeredServices(store)()).map(({ dataDir }) => dataDir).sort();
  const isRefused = async (service: TestProcess) =>
    (await service.call("GET", "/api/v1/emails")).status === 503;

  async function hasMailUnderWay(service: TestProcess): Promise<boolean> {
    for (const status of ["queued", "deferred", "sending"]) {
      const { json } = await service.call("GET", `/api/v1/emails?status=${status}&limit=1`);
      if (json.data.length > 0) return true;
    }
    return false;
  }

  /** Stops the services, and unfreezes the log for the next test. */
  async function end(services: readonly TestProcess[]): Promise<void> {
    for (const service of services) await service.kill("SIGTERM");
    const command = { ...env, DATA_DIR: join(root, "first") };
    expect(await runJsonCommand(command, "log", "unfreeze")).toMatchObject({ exitCode: 0 });
  }

  test(
    "waits for all running instances, not for stopped ones, and has every 202",
    async () => {
      const first = await start("first");
      const [second, third] = await Promise.all([start("second"), start("third")]);
      expect(await runningDataDirs()).toEqual(["first", "second", "third"].map((name) => join(root, name)));
      await third.kill("SIGTERM");
      expect(await runningDataDirs()).toEqual(["first", "second"].map((name) => join(root, name)));
      const loads = [first, second].map((service) => {
        const load = new Load({ posters: 3, backlog: () => 0 });
        load.setTarget(service);
        load.start();
        return load;
      });
      const acceptedBy = (load: Load) =>
        load.posts.flatMap(({ receipt }) => (receipt === null ? [] : [receipt.id]));
      for (const load of loads)
        await until(() => acceptedBy(load).length > ACCEPTED_MIN, "some mail", ACCEPTED_MS_MAX);
      const exported = await exportTo("loaded.zst", LONG_BOUNDS);
      expect(exported).toMatchObject({ exitCode: 0, err: "", json: { frozen: true, silent: [] } });
      for (const load of loads) {
        await until(() => load.unavailable > 0, "both services to refuse sends");
        await load.stop();
        expect(load.problems).toEqual([]);
      }
      const text = await textOf(join(root, "loaded.zst"));
      const missing = loads.flatMap(acceptedBy).filter((id) => !text.includes(`"email-${id}","revision":1,`));
      expect(missing).toEqual([]);
      expect(text).not.toContain('"ServiceJoined"');
      expect(await runningDataDirs()).toEqual([]);
      await end([first, second]);
    },
    TEST_MS_MAX,
  );

  test(
    "waits for a delivery that another instance holds open at the relay, and has its outcome",
    async () => {
      const idle = await start("first");
      // Mail left by the previous test: the relay must hold one delivery, and no other.
      await until(
        async () => !(await hasMailUnderWay(idle)),
        "earlier mail to be delivered",
        DELIVERED_MS_MAX,
      );
      const finalReply = Promise.withResolvers<undefined>();
      const holding = Promise.withResolvers<void>();
      sink.onStage = (stage) => {
        if (stage !== "final") return undefined;
        holding.resolve();
        return finalReply.promise;
      };
      const mail = { from: "hello@example.com", to: "a@example.net", subject: "Held", text: "Hello." };
      const { id } = (await idle.send("held-by-the-relay", mail)).json;
      await holding.promise;
      const other = await start("second");
      const exporting = exportTo("held.zst", LONG_BOUNDS);
      for (const service of [idle, other])
        await until(() => isRefused(service), "both services to refuse sends");
      // The instance with nothing in flight has left; the export waits for the other.
      await until(async () => (await runningDataDirs()).length === 1, "one service to exit");
      finalReply.resolve(undefined);
      expect(await exporting).toMatchObject({ exitCode: 0, err: "", json: { frozen: true, silent: [] } });
      const lines = (await textOf(join(root, "held.zst"))).split("\n");
      expect(lines.filter((line) => line.includes(`"email-${id}"`)).join("\n")).toContain('"EmailSent"');
      await end([idle, other]);
    },
    TEST_MS_MAX,
  );

  test(
    "waits for a killed service as long as its work may take, and names it",
    async () => {
      const remaining = await start("first");
      const killed = await start("second");
      const mail = { from: "hello@example.com", to: "b@example.net", subject: "Last", text: "Hello." };
      const { id } = (await killed.send("the-last-one", mail)).json;
      await killed.kill("SIGKILL");
      const exported = await exportTo("killed.zst", SHORT_BOUNDS);
      const silent = [`${hostname()}:${join(root, "second")}`];
      expect(exported).toMatchObject({ exitCode: 0, json: { frozen: true, silent } });
      expect(await textOf(join(root, "killed.zst"))).toContain(`"email-${id}","revision":1,`);
      await until(() => isRefused(remaining), "the other service to refuse sends");
      await end([remaining]);
    },
    TEST_MS_MAX,
  );

  test(
    "does not wait for a killed service that has run again since; one on a copy of its directory counts apart",
    async () => {
      const dataDir = join(root, "third");
      const isNewInstance = (dir: string) => /third|copied/.test(dir);
      const killed = await start("third");
      await killed.kill("SIGKILL");
      expect(await runningDataDirs()).toContain(dataDir);
      const third = await start("third");
      expect((await runningDataDirs()).filter(isNewInstance)).toEqual([dataDir]);
      await cp(dataDir, join(root, "copied"), { recursive: true, preserveTimestamps: true });
      const copy = await start("copied");
      expect((await runningDataDirs()).filter(isNewInstance)).toEqual([join(root, "copied"), dataDir]);
      for (const service of [third, copy]) await service.kill("SIGTERM");
      expect((await runningDataDirs()).filter(isNewInstance)).toEqual([]);
    },
    TEST_MS_MAX,
  );
});
