import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { cp, mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runJsonCommand } from "../support/process/jsonCommand.ts";
import { type Caller, callerOf, startTestProcess, type TestProcess } from "../support/service.ts";
import { canStartEventStoreDb, startEventStoreDb } from "../support/stores/eventstoredb.ts";
import { until } from "../support/until.ts";
import { type RawSink, startRawSink } from "./crash/rawSink.ts";
import { startWebhookReceivers, type WebhookReceivers } from "./crash/webhookReceivers.ts";

const MS_MAX = 120_000;
const WAIT_MS = 90_000;
const MAILS = 5;
const NEW_SENDER = "owner@example.org";

type Environment = Readonly<Record<string, string>>;

let folder: string;
let sink: RawSink;
let receivers: WebhookReceivers;
let settings: Environment;
let apiKey: string;
let masterKey: string;
let endpointId: string;
let emailIds: readonly string[];
const running: TestProcess[] = [];

const copiesTo = (address: string) => sink.copies.filter(({ to }) => to === address);
const oldCopies = () => sink.copies.filter(({ to }) => to.startsWith("old-") || to === NEW_SENDER);
const oldCalls = () => receivers.calls.filter(({ path }) => path !== "").length;

async function start(env: Environment): Promise<TestProcess> {
  const process = await startTestProcess({ dataDir: env.DATA_DIR ?? "", env: { ...settings, ...env } });
  running.push(process);
  return process;
}

async function stopAll(): Promise<void> {
  for (const process of running.splice(0)) await process.kill("SIGKILL");
}

function mailTo(to: string) {
  return { from: "hello@example.com", to, subject: `For ${to}`, text: "Hello." };
}

async function accept(caller: Caller, to: string): Promise<string> {
  const answer = await caller.send(`held-${to}`, mailTo(to));
  if (answer.status !== 202) throw new Error(`${answer.status} ${answer.text}`);
  return answer.json.id;
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "postledger-held-"));
  sink = await startRawSink();
  receivers = await startWebhookReceivers();
  settings = {
    ...receivers.settings,
    SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
    VERIFICATION_FROM: "postmaster@example.net",
    LOG_LEVEL: "info",
    // Longer than an attempt takes on a busy machine: what may have been sent is sent again.
    DELIVERY_LEASE_MS: "6000",
  };
  // Yesterday: unprocessed mail, webhook events and a verification link.
  const env = { DATA_DIR: join(folder, "yesterday"), CONTENT_URL: `file:${join(folder, "content")}` };
  const service = await start({ ...env, DELIVERY: "off" });
  apiKey = service.apiKey;
  const url = receivers.newUrl("well");
  endpointId = (await service.call("POST", "/webhooks", { body: { url } })).json.id;
  const ids: string[] = [];
  for (let index = 0; index < MAILS; index += 1) ids.push(await accept(service, `old-${index}@example.net`));
  emailIds = ids;
  const sender = await service.call("POST", "/api/v1/senders", { body: { address: NEW_SENDER } });
  const verification = `/api/v1/senders/${sender.json.id}/verification`;
  await service.call("POST", verification, { body: { method: "email" } });
  const backup = await runJsonCommand(env, "backup", "create", "--out", join(folder, "backup"), "--with-key");
  expect(backup).toMatchObject({ exitCode: 0, json: { damaged: 0, sealed: false } });
  const exported = await runJsonCommand(env, "log", "export", "--out", join(folder, "log.zst"));
  expect(exported).toMatchObject({ exitCode: 0, json: { frozen: false } });
  await cp(join(folder, "content"), join(folder, "content-copy"), { recursive: true });
  masterKey = (await readFile(join(env.DATA_DIR, "master.key"), "utf8")).trim();
  await stopAll();
  // And then it was processed.
  await start(env);
  await until(
    () => oldCopies().length === MAILS + 1 && oldCalls() >= 2 * MAILS,
    "everything to be delivered",
    WAIT_MS,
  );
  await stopAll();
}, MS_MAX);

afterEach(stopAll);
afterAll(async () => {
  await stopAll();
  await sink?.close();
  await receivers?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** What of yesterday has been sent by now. */
function left() {
  return { mails: oldCopies().length, calls: oldCalls() };
}

/** Brings yesterday's log to an empty place, and returns the settings of a service there. */
async function restored(): Promise<Environment> {
  const env = { DATA_DIR: join(folder, "restored"), CONTENT_URL: `file:${join(folder, "restored-content")}` };
  const result = await runJsonCommand(env, "backup", "restore", join(folder, "backup"));
  expect(result).toMatchObject({ exitCode: 0, err: "", json: { has_key: true } });
  return env;
}

async function imported(): Promise<Environment> {
  const { url } = await startEventStoreDb();
  const env = {
    ...{ DATA_DIR: join(folder, "imported"), STORE_URL: url, MASTER_KEY: masterKey },
    CONTENT_URL: `file:${join(folder, "content-copy")}`,
  };
  await mkdir(env.DATA_DIR);
  expect(await runJsonCommand(env, "log", "import", join(folder, "log.zst"))).toMatchObject({
    exitCode: 0,
    err: "",
  });
  return env;
}

describe.each([
  ["a backup that is restored", true, restored],
  ["an export that is imported into EventStoreDB, two instances on it", canStartEventStoreDb, imported],
])("%s", (_name, isPossible, createCopy) => {
  test.skipIf(!isPossible)(
    "sends no earlier mail until it is resumed, but all new mail",
    async () => {
      const env = await createCopy();
      const before = left();
      const service = await start(env);
      const other = env.STORE_URL ? { ...env, DATA_DIR: `${env.DATA_DIR}-2` } : null;
      if (other) await start(other);
      const caller = callerOf(service.url, apiKey);
      const address = `new-${env.STORE_URL ? "server" : "disk"}@example.net`;
      await accept(caller, address);
      await until(() => copiesTo(address).length === 1, "new mail to be sent", WAIT_MS);
      const deliveredIds = async () => {
        const { json } = await caller.call("GET", `/webhooks/${endpointId}/deliveries?status=delivered`);
        return json.data?.length === 2;
      };
      await until(deliveredIds, "new webhooks to be delivered", WAIT_MS);
      const calls = { mails: before.mails, calls: before.calls + 2 };
      expect(left()).toEqual(calls);
      for (const id of emailIds) {
        const { json } = await caller.call("GET", `/api/v1/emails/${id}`);
        expect(json).toMatchObject({ status: "queued" });
      }
      const ready = await caller.call("GET", "/health/ready");
      expect(ready).toMatchObject({
        status: 200,
        json: { status: "degraded", checks: { delivery: { ok: false } } },
      });
      expect((await runJsonCommand({ ...settings, ...env }, "doctor")).json).toContainEqual(
        expect.objectContaining({ name: "delivery", status: "failed" }),
      );

      // It is the log that holds it, not the process.
      await stopAll();
      const restarted = await start(env);
      const restartedCaller = callerOf(restarted.url, apiKey);
      const later = `later-${address}`;
      await accept(restartedCaller, later);
      await until(() => copiesTo(later).length === 1, "new mail to be sent", WAIT_MS);
      expect(left().mails).toBe(before.mails);
      const [canceled = "", ...kept] = emailIds;
      const copiesOf = (id: string) => sink.copiesById.get(id) ?? [];
      const copiesBefore = copiesOf(canceled).length;
      expect((await restartedCaller.call("POST", `/api/v1/emails/${canceled}/cancel`)).status).toBe(200);
      // A list waits until its read model has what was in the log when it was asked for.
      expect((await restartedCaller.call("GET", "/api/v1/emails?limit=1")).status).toBe(200);
      const resume = () => runJsonCommand({ ...settings, ...env }, "delivery", "resume");
      let resumed = await resume();
      // The read models may be on their way still: nothing is released before it is known what.
      await until(async () => {
        if (resumed.exitCode === 1) resumed = await resume();
        return resumed.exitCode === 0;
      }, "the held mail to be reported");
      const released = { emails: kept.length, webhook_deliveries: MAILS, verification_mails: 1 };
      expect(resumed.json.released).toMatchObject({ ...released, may_repeat: kept.length + MAILS + 1 });
      await until(() => left().mails === before.mails + kept.length + 1, "the held mail to be sent", WAIT_MS);
      for (const id of kept) {
        const messageIds = copiesOf(id).map(({ messageId }) => messageId);
        expect(messageIds.length).toBeGreaterThan(1);
        expect(new Set(messageIds).size).toBe(1);
      }
      expect(copiesOf(canceled)).toHaveLength(copiesBefore);
      const isDelivered = async () => {
        const { json } = await restartedCaller.call(
          "GET",
          `/webhooks/${endpointId}/deliveries?status=pending`,
        );
        return json.data?.length === 0;
      };
      await until(isDelivered, "the held webhooks to be delivered", WAIT_MS);
      await until(
        async () => (await restartedCaller.call("GET", "/health/ready")).json.status === "ok",
        "no mail to be held",
        WAIT_MS,
      );
      expect((await resume()).json).toMatchObject({ released: null });
    },
    MS_MAX,
  );
});
