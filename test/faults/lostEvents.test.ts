import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runJsonCommand } from "../support/process/jsonCommand.ts";
import { sourceCommandLine } from "../support/process/program.ts";
import { callerOf, startTestProcess, type TestProcess } from "../support/service.ts";
import { canStartEventStoreDb, startEventStoreDb } from "../support/stores/eventstoredb.ts";
import { until } from "../support/until.ts";
import { changedProgram } from "./crash/plants.ts";
import { type RawSink, startRawSink } from "./crash/rawSink.ts";

const MS_MAX = 240_000;
const WAIT_MS = 90_000;
const MAILS = 3;
const LOSS_LINE = "the newest events of the log are gone";
const HELD = "unfinished work has been held since the log was found to lack its newest events";

type Environment = Readonly<Record<string, string>>;

/** A store that can lose what was written to it since it was last closed. */
interface LosingStore {
  readonly env: Environment;
  /** Whether several instances can share it. */
  readonly isShared: boolean;
  /** Called while no service runs, before the events that will be lost. */
  keep(): Promise<void>;
  lose(): Promise<void>;
  close(): Promise<void>;
}

/** The last close of the log moves its write-ahead log into its file, so what comes later is only in the former. */
async function embedded(folder: string): Promise<LosingStore> {
  const store = join(folder, "store");
  return {
    env: { STORE_URL: `file:${store}` },
    isShared: false,
    keep: async () => {},
    lose: () => rm(join(store, "events.db-wal")),
    close: async () => {},
  };
}

async function server(folder: string): Promise<LosingStore> {
  const { url, process: running, folder: files } = await startEventStoreDb();
  const copy = async (from: string, to: string) => {
    await running.kill();
    await rm(to, { recursive: true, force: true });
    await cp(from, to, { recursive: true });
    await running.start();
  };
  const masterKey = crypto.getRandomValues(new Uint8Array(32)).toBase64();
  return {
    env: { STORE_URL: url, MASTER_KEY: masterKey, BOOTSTRAP: "on" },
    isShared: true,
    keep: () => copy(join(files, "db"), join(folder, "older")),
    lose: () => copy(join(folder, "older"), join(files, "db")),
    close: () => running.kill(),
  };
}

/** Kills itself as soon as it has found the loss: before or after it has recorded it. */
async function killedProgram(when: "before" | "after"): Promise<string> {
  const kill = 'process.kill(process.pid, "SIGKILL"); await new Promise(() => {});';
  const change = {
    before: {
      file: "src/commands/instance/holdAfterLoss.ts",
      from: "return transact(",
      to: `${kill} return transact(`,
    },
    after: {
      file: "src/service/openInstanceFromConfig.ts",
      from: 'if (outcome === "held")',
      to: `${kill} if (outcome === "held")`,
    },
  };
  return changedProgram(`killed-${when}`, [change[when]]);
}

describe.each([
  ["the embedded store, without its write-ahead log", true, embedded],
  ["EventStoreDB, two instances on an older copy of its files", canStartEventStoreDb, server],
])("%s", (_name, isPossible, openStore) => {
  let folder: string;
  let sink: RawSink;
  let store: LosingStore;
  let settings: Environment;
  let apiKey: string;
  const ids: string[] = [];
  const running: TestProcess[] = [];

  const dataDirectories = () => ["one", ...(store.isShared ? ["two"] : [])].map((name) => join(folder, name));
  const copiesOfOld = () => sink.copies.filter(({ to }) => to.startsWith("old-")).length;

  async function start(dataDir: string, env: Environment = {}, root?: string): Promise<TestProcess> {
    const program = root === undefined ? {} : { program: sourceCommandLine(root) };
    const service = await startTestProcess({ dataDir, env: { ...settings, ...env }, ...program });
    running.push(service);
    return service;
  }

  async function startAll(): Promise<TestProcess> {
    const [first] = await Promise.all(dataDirectories().map((dataDir) => start(dataDir)));
    if (first === undefined) throw new Error("there is at least one");
    return { ...first, ...callerOf(first.url, apiKey) };
  }

  async function stopAll(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    for (const service of running.splice(0)) await service.kill(signal);
  }

  const accept = (service: TestProcess, to: string) =>
    service.send(`lost-${to}`, { from: "hello@example.com", to, subject: `For ${to}`, text: "Hello." });

  const command = (...words: string[]) =>
    runJsonCommand({ ...settings, DATA_DIR: join(folder, "one") }, ...words);

  const restorations = async () =>
    (await command("audit", "log", "--action", "log.restored")).json as readonly unknown[];

  /** New mail goes out, so whatever else is to be sent by itself has been claimed by then. */
  async function sendNew(service: TestProcess, to: string): Promise<void> {
    expect((await accept(service, to)).status).toBe(202);
    await until(() => sink.copies.some((copy) => copy.to === to), "new mail to be sent", WAIT_MS);
  }

  const isReady = async (service: TestProcess) => (await service.call("GET", "/health/ready")).status === 200;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "postledger-lost-"));
    sink = await startRawSink();
    if (!isPossible) return;
    store = await openStore(folder);
    settings = {
      ...store.env,
      CONTENT_URL: `file:${join(folder, "content")}`,
      SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
      LOG_LEVEL: "info",
    };
    const service = await start(join(folder, "one"), { DELIVERY: "off" });
    apiKey = service.apiKey;
    for (let index = 0; index < MAILS; index += 1)
      ids.push((await accept(service, `old-${index}@example.net`)).json.id);
    await stopAll("SIGTERM");
    await store.keep();
    // What is done from here on will be lost.
    const sender = await startAll();
    await until(() => copiesOfOld() === MAILS, "all mail to be sent", WAIT_MS);
    for (const { url } of running) {
      const { call } = callerOf(url, apiKey);
      const sent = async () => (await call("GET", "/api/v1/emails?status=sent")).json.data?.length === MAILS;
      await until(sent, "the read models to know it", WAIT_MS);
    }
    expect(sender.log()).not.toContain(LOSS_LINE);
    await stopAll("SIGKILL");
    await store.lose();
  }, MS_MAX);

  afterAll(async () => {
    await stopAll("SIGKILL");
    await store?.close();
    await sink.close();
    await rm(folder, { recursive: true, force: true });
  });

  test.skipIf(!isPossible)(
    "holds what the log does not know to be sent, whenever its start is killed, until the operator resumes it",
    async () => {
      const [dataDir = ""] = dataDirectories();
      const killed = await killedProgram("before");
      await expect(start(dataDir, {}, killed)).rejects.toThrow("the service did not start");
      expect(await restorations()).toEqual([]);
      // A rebuild would remove what shows the loss.
      expect(await command("projection", "rebuild")).toMatchObject({
        exitCode: 1,
        err: expect.stringContaining(
          "the read models hold events that the log lacks: start the service (again)",
        ),
      });
      const service = await startAll();
      await sendNew(service, "new@example.net");
      expect(running.filter((one) => one.log().includes(LOSS_LINE))).toHaveLength(1);
      expect(copiesOfOld()).toBe(MAILS);
      for (const id of ids) {
        const { json } = await service.call("GET", `/api/v1/emails/${id}`);
        expect(json).toMatchObject({ waiting: { reason: "held_after_restore" } });
      }
      expect((await service.call("GET", "/health/ready")).json).toMatchObject({
        status: "degraded",
        checks: { delivery: { ok: false, required: false, detail: expect.stringContaining(HELD) } },
      });
      const held = { name: "delivery", status: "failed", detail: expect.stringContaining(HELD) };
      expect((await command("doctor")).json).toContainEqual(expect.objectContaining(held));
      expect(await restorations()).toEqual([
        expect.objectContaining({ details: expect.objectContaining({ from: "loss" }) }),
      ]);
      await until(() => isReady(service), "the read models to be built", WAIT_MS);
      await stopAll("SIGKILL");

      // It is the log that holds it, and it does so once.
      const restarted = await startAll();
      await sendNew(restarted, "newer@example.net");
      expect(running.some((one) => one.log().includes(LOSS_LINE))).toBe(false);
      expect(await restorations()).toHaveLength(1);
      expect(copiesOfOld()).toBe(MAILS);
      let resumed = await command("delivery", "resume");
      await until(async () => {
        if (resumed.exitCode === 1) resumed = await command("delivery", "resume");
        return resumed.exitCode === 0;
      }, "the held mail to be known");
      expect(resumed.json.released).toMatchObject({
        restored: { from: "loss", sealed: false },
        emails: MAILS,
        may_repeat: MAILS,
      });
      await until(() => copiesOfOld() === 2 * MAILS, "the held mail to be sent", WAIT_MS);
    },
    MS_MAX,
  );
});

describe("a hold that is lost itself", () => {
  let folder: string;
  let sink: RawSink;
  let service: TestProcess | undefined;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "postledger-lost-again-"));
    sink = await startRawSink();
  });
  afterAll(async () => {
    await service?.kill("SIGKILL");
    await sink.close();
    await rm(folder, { recursive: true, force: true });
  });

  test(
    "is found to be gone, and begins again",
    async () => {
      const env = { SMTP_URL: `smtp://127.0.0.1:${sink.port}`, LOG_LEVEL: "info" };
      const mail = { from: "hello@example.com", to: "ana@example.net", subject: "Once", text: "Hello." };
      const start = async (options: Environment = {}, root?: string) => {
        const program = root === undefined ? {} : { program: sourceCommandLine(root) };
        service = await startTestProcess({ dataDir: folder, env: { ...env, ...options }, ...program });
        return service;
      };
      const loseNewest = async (running: TestProcess) => {
        await running.kill("SIGKILL");
        await rm(join(folder, "events.db-wal"));
      };
      const first = await start({ DELIVERY: "off" });
      const { id } = (await first.send("once-0001", mail)).json;
      await first.kill("SIGTERM");
      const second = await start();
      const isSent = async () =>
        (await second.call("GET", "/api/v1/emails?status=sent")).json.data?.length === 1;
      await until(isSent, "the read model to know that it was sent", WAIT_MS);
      await loseNewest(second);
      // Killed right after the hold was recorded: the next start finds the hold, and nothing to add to it.
      await expect(start({}, await killedProgram("after"))).rejects.toThrow("the service did not start");
      for (const isFound of [false, true]) {
        const third = await start();
        const waiting = async () =>
          (await third.call("GET", `/api/v1/emails/${id}`)).json.waiting?.reason === "held_after_restore";
        await until(waiting, "the message to be held", WAIT_MS);
        expect(third.log().includes(LOSS_LINE)).toBe(isFound);
        // Each read model is one of the held log now.
        const isReady = async () => (await third.call("GET", "/health/ready")).status === 200;
        await until(isReady, "the read models to be built", WAIT_MS);
        await loseNewest(third);
      }
      expect(sink.copies).toHaveLength(1);
    },
    MS_MAX,
  );
});
