import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { smtpClient } from "../support/mail/smtpClient.ts";
import { type Sink, startSmtpSink } from "../support/mail/smtpSink.ts";
import { statusReport } from "../support/mail/statusReport.ts";
import { startTestProcess, type TestProcess } from "../support/service.ts";
import { message, newKey } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const ROUNDS = 3;
const CLIENTS = 6;
const MESSAGES_PER_ROUND = 60;
/** After so many replies of 250 in a round the service is killed, with other reports in every stage. */
const REPLIES_BEFORE_KILL = 20;

function reportOf(recipient: string): string {
  return statusReport({ recipient, status: "5.1.1", reply: "550 5.1.1 user unknown" });
}

/** A message, the sender of its envelope, and whether a report of it was taken. */
interface Returned {
  readonly id: string;
  readonly to: string;
  readonly returnPath: string;
  isConfirmed: boolean;
}

let dataDir: string;
let sink: Sink;
let service: TestProcess | undefined;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "postledger-inbound-"));
  sink = await startSmtpSink();
});

afterAll(async () => {
  await service?.kill("SIGKILL");
  await sink.close();
  await rm(dataDir, { recursive: true, force: true });
});

async function start(): Promise<{ readonly process: TestProcess; readonly port: number }> {
  const relay = { DELIVERY: "on", SMTP_URL: `smtp://127.0.0.1:${sink.port}` };
  const inbound = { INBOUND_PORT: "0", RETURN_PATH_DOMAIN: "bounce.example" };
  const process = await startTestProcess({ dataDir, env: { ...relay, ...inbound } });
  service = process;
  const line = () => /"port":(\d+)[^\n]*taking mail that comes back/.exec(process.log());
  await until(() => line() !== null, "the service to accept returned mail");
  return { process, port: Number(line()?.[1]) };
}

async function sentMessages(process: TestProcess, round: number): Promise<readonly Returned[]> {
  const recipients = Array.from({ length: MESSAGES_PER_ROUND }, (_, nth) => `to-${round}-${nth}@example.org`);
  const ids = await Promise.all(
    recipients.map(async (to) => {
      const body = { ...message({ to }), from: "hello@example.com" };
      const headers = { "idempotency-key": newKey() };
      return (await process.call("POST", "/api/v1/emails", { body, headers })).json.id as string;
    }),
  );
  const isSent = async (id: string) =>
    (await process.call("GET", `/api/v1/emails/${id}`)).json.status === "sent";
  for (const id of ids) await until(() => isSent(id), "the message to be sent");
  return recipients.map((to, nth) => ({
    id: ids[nth] ?? "",
    to,
    returnPath: sink.record.messages.find((one) => one.to.includes(to))?.from ?? "",
    isConfirmed: false,
  }));
}

/** Returns messages over one connection until it ends; notes the replies of 250. */
async function returnUntilTheEnd(port: number, next: () => Returned | undefined): Promise<void> {
  const client = await smtpClient(port);
  await client.command("EHLO relay.example");
  for (let one = next(); one !== undefined && !client.isClosed(); one = next()) {
    const reply = await client.send([one.returnPath], reportOf(one.to));
    if (reply.startsWith("250")) one.isConfirmed = true;
  }
  client.destroy();
}

async function bouncesOf(process: TestProcess, { id }: Returned): Promise<number> {
  const { timeline } = (await process.call("GET", `/api/v1/emails/${id}`)).json;
  return timeline.filter(({ type }: { type: string }) => type === "bounced").length;
}

test("after kill -9 every accepted report has its bounce, and a repeated report adds none", async () => {
  const all: Returned[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const { process, port } = await start();
    const messages = await sentMessages(process, round);
    all.push(...messages);
    const left = [...messages];
    const sending = Array.from({ length: CLIENTS }, () => returnUntilTheEnd(port, () => left.shift()));
    await until(
      () => messages.filter(({ isConfirmed }) => isConfirmed).length >= REPLIES_BEFORE_KILL,
      "replies",
    );
    await process.kill("SIGKILL");
    await Promise.all(sending);
  }
  const { process, port } = await start();
  const confirmed = all.filter(({ isConfirmed }) => isConfirmed);
  for (const one of confirmed) expect(await bouncesOf(process, one)).toBe(1);

  // Servers return a message until it is accepted; some do so twice.
  const repeated = all.filter(({ isConfirmed }, nth) => !isConfirmed || nth % 4 === 0);
  for (const one of repeated) one.isConfirmed = false;
  const left = [...repeated];
  await returnUntilTheEnd(port, () => left.shift());
  expect(repeated.filter(({ isConfirmed }) => !isConfirmed)).toEqual([]);
  for (const one of all) expect(await bouncesOf(process, one)).toBe(1);
  for (const { to, id } of all.filter((_, nth) => nth % 10 === 0)) {
    const { json } = await process.call("GET", `/api/v1/suppressions/${to}`);
    expect(json).toMatchObject({ reason: "bounce", email_id: id });
  }
}, 120_000);
