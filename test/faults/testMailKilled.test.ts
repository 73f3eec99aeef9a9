import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Sink, startSmtpSink } from "../support/mail/smtpSink.ts";
import { callerOf, startTestProcess, type TestProcess } from "../support/service.ts";
import { message, newKey } from "../support/tenants.ts";
import { until } from "../support/until.ts";

const ROUNDS = 3;
const MESSAGES_PER_ROUND = 30;
/** After so many messages of a round have been delivered the service is killed, with the others in every stage. */
const DELIVERED_BEFORE_KILL = 10;

let dataDir: string;
let sink: Sink;
let service: TestProcess | undefined;

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "postledger-test-mail-"));
  sink = await startSmtpSink();
});

afterAll(async () => {
  await service?.kill("SIGKILL");
  await sink.close();
  await rm(dataDir, { recursive: true, force: true });
});

async function start(): Promise<TestProcess> {
  const relay = { DELIVERY: "on", SMTP_URL: `smtp://127.0.0.1:${sink.port}` };
  // A killed worker's claim must expire within the test.
  service = await startTestProcess({ dataDir, env: { ...relay, DELIVERY_LEASE_MS: "3000" } });
  return service;
}

/** A test key of the service's first workspace. */
async function newTestKey(process: TestProcess): Promise<string> {
  const body = { name: "test", test: true, scopes: ["email:send", "email:read"] };
  return (await process.call("POST", "/api/v1/api-keys", { body })).json.key;
}

const mailTo = (to: string) => message({ to, from: "hello@example.com" });

async function delivered(process: TestProcess, key: string): Promise<readonly string[]> {
  const { json } = await callerOf(process.url, key).call("GET", "/api/v1/emails?status=delivered&limit=100");
  return json.data.map(({ to }: { to: string }) => to);
}

test("test mail is all delivered and reaches no relay, whenever the service is killed and whatever is rebuilt", async () => {
  const killed = await start();
  const key = await newTestKey(killed);
  const recipients: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const process = round === 0 ? killed : await start();
    const before = (await delivered(process, key)).length;
    const sending = Array.from({ length: MESSAGES_PER_ROUND }, async (_, nth) => {
      const to = `test-${round}-${nth}@example.org`;
      const answer = await callerOf(process.url, key)
        .send(newKey(), mailTo(to))
        .catch(() => null);
      if (answer?.status === 202) recipients.push(to);
    });
    await until(
      async () => (await delivered(process, key)).length >= before + DELIVERED_BEFORE_KILL,
      "some of it to be delivered",
    );
    await process.kill("SIGKILL");
    await Promise.all(sending);
    // Without its read models the service rebuilds them from the log.
    if (round === 1) await rm(join(dataDir, "projections"), { recursive: true });
  }
  const process = await start();
  await until(async () => {
    const done = new Set(await delivered(process, key));
    return recipients.every((to) => done.has(to));
  }, "all of it to be delivered");
  const live = await process.call("POST", "/api/v1/emails", {
    body: mailTo("live@example.org"),
    headers: { "idempotency-key": newKey() },
  });
  expect(live.status).toBe(202);
  await until(() => sink.record.messages.length > 0, "live mail to reach the relay");
  expect(sink.record.messages.map(({ to }) => to)).toEqual([["live@example.org"]]);
}, 120_000);
