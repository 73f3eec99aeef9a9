import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestProcess, type TestProcess } from "../support/service.ts";
import { until } from "../support/until.ts";
import { type RawSink, startRawSink } from "./crash/rawSink.ts";

/** Far longer than this test may take: waiting for a lease fails it. */
const LEASE_MS = 3_600_000;

let sink: RawSink;
let dataDir: string;
let service: TestProcess | undefined;

beforeAll(async () => {
  sink = await startRawSink();
  dataDir = await mkdtemp(join(tmpdir(), "postledger-claims-"));
});

afterAll(async () => {
  await service?.kill("SIGKILL");
  await sink.close();
  await rm(dataDir, { recursive: true, force: true });
});

async function start(): Promise<TestProcess> {
  const env = {
    SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
    DELIVERY_RETRY_BASE_MS: "1000",
    DELIVERY_LEASE_MS: String(LEASE_MS),
  };
  service = await startTestProcess({ dataDir, env });
  return service;
}

test("mail claimed at kill -9 does not wait for its lease: it is ambiguous at the next start, and repeated", async () => {
  sink.onStage = (stage) => (stage === "final" ? Promise.withResolvers<string>().promise : undefined);
  const first = await start();
  const mail = { from: "hello@example.com", to: "ana@example.net", subject: "Held", text: "Hello." };
  const { id } = (await first.send("claimed-at-kill", mail)).json;
  await until(() => sink.copies.length === 1, "the relay to receive the message");
  await first.kill("SIGKILL");
  sink.onStage = null;

  const second = await start();
  const read = async () => (await second.call("GET", `/api/v1/emails/${id}`)).json;
  await until(async () => (await read()).status === "sent", "the message to be sent");
  const { timeline } = await read();
  expect(timeline).toContainEqual(
    expect.objectContaining({ type: "deferred", reason: "lease_expired", ambiguous: true }),
  );
  const [lost, repeat] = sink.copies;
  expect(repeat?.messageId).toBe(lost?.messageId ?? "");
  expect(sink.copies).toHaveLength(2);
}, 120_000);
