import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestProcess, type TestProcess } from "../support/service.ts";
import { until } from "../support/until.ts";
import { startWebhookReceiver, type WebhookReceiver } from "../support/webhook/webhookReceiver.ts";
import { hostOf, loopbackNames, webhookSettings } from "../support/webhook/webhookWorld.ts";
import { type RawSink, startRawSink } from "./crash/rawSink.ts";

/** Longer than an attempt takes on a busy machine: what may have been sent is sent again. */
const LEASE_MS = 6_000;
const CALL_TIMEOUT_MS = 6_000;
const NAME = "stalled";

let sink: RawSink;
let receiver: WebhookReceiver;
let dns: Awaited<ReturnType<typeof loopbackNames>>;
let folder: string;
let service: TestProcess;
/** Answers to calls that the receiver holds back. */
const heldAnswers: ServerResponse[] = [];

beforeAll(async () => {
  sink = await startRawSink();
  receiver = await startWebhookReceiver((_call, response) => heldAnswers.push(response));
  dns = await loopbackNames();
  folder = await mkdtemp(join(tmpdir(), "postledger-stalled-"));
  const env = {
    ...(await webhookSettings(receiver, dns, [NAME], folder)),
    SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
    DELIVERY_LEASE_MS: String(LEASE_MS),
    DELIVERY_RETRY_BASE_MS: "1000",
    WEBHOOK_CALL_TIMEOUT_MS: String(CALL_TIMEOUT_MS),
    WEBHOOK_SCHEDULE_MS: "0,100",
  };
  service = await startTestProcess({ dataDir: join(folder, "data"), env });
}, 60_000);

afterAll(async () => {
  await service?.kill("SIGKILL");
  await sink?.close();
  receiver?.stop();
  dns?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Stops the process, lets `meanwhile` happen, and continues it after `ms`. */
async function stallFor(ms: number, meanwhile: () => void): Promise<void> {
  process.kill(service.pid, "SIGSTOP");
  const end = performance.now() + ms;
  try {
    await until(async () => (await stateOf(service.pid)) === "T", "the process to be stopped");
    meanwhile();
    await until(() => performance.now() > end, "the stall to end");
  } finally {
    process.kill(service.pid, "SIGCONT");
  }
}

/** The state of a process: T if it is stopped (proc_pid_stat(5)). */
async function stateOf(pid: number): Promise<string> {
  const stat = await readFile(`/proc/${pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2)[0] ?? "";
}

async function sendTo(to: string): Promise<string> {
  const mail = { from: "hello@example.com", to, subject: "Stalled", text: "Hello." };
  return (await service.send(`stalled-${to}`, mail)).json.id;
}

test("mail that the relay takes during a stall beyond the deadline is sent once", async () => {
  const taken = Promise.withResolvers<undefined>();
  sink.onStage = (stage) => (stage === "final" ? taken.promise : undefined);
  const id = await sendTo("ana@example.net");
  await until(() => sink.copies.length === 1, "the relay to have the message");
  await stallFor(LEASE_MS, () => taken.resolve(undefined));
  sink.onStage = null;

  const read = async () => (await service.call("GET", `/api/v1/emails/${id}`)).json;
  await until(
    async () => (await read()).status === "sent" || sink.copies.length > 1,
    "the message to be sent",
  );
  expect((await read()).timeline).not.toContainEqual(expect.objectContaining({ ambiguous: true }));
  expect(await read()).toMatchObject({ status: "sent" });
  expect(sink.copies).toHaveLength(1);
}, 60_000);

test("a webhook call that is answered during a stall beyond its time-out is delivered, and made once", async () => {
  const url = `https://${hostOf(NAME)}:${receiver.port}/`;
  const endpoint = (await service.call("POST", "/webhooks", { body: { url, event_types: ["email.sent"] } }))
    .json;
  await sendTo("bo@example.net");
  await until(() => heldAnswers.length === 1, "the receiver to be called");
  await stallFor(CALL_TIMEOUT_MS, () => heldAnswers[0]?.end("taken"));

  const list = async () => (await service.call("GET", `/webhooks/${endpoint.id}/deliveries`)).json.data;
  const isDelivered = async () => (await list())[0]?.status === "delivered";
  await until(async () => (await isDelivered()) || receiver.calls.length > 1, "the webhook to be delivered");
  expect(await list()).toEqual([expect.objectContaining({ status: "delivered", attempts: 1 })]);
  expect(receiver.calls).toHaveLength(1);
}, 60_000);
