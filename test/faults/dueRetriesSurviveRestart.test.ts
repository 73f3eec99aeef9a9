import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startTestProcess, type TestProcess } from "../support/service.ts";
import { until } from "../support/until.ts";
import { type RawSink, startRawSink } from "./crash/rawSink.ts";

const MESSAGES = 5;
/** Longer than a restart takes, so that the time of the retry comes after it. */
const RETRY_BASE_MS = 12_000;
/** How late a retry may be on a busy machine; less than a wait that starts over. */
const LATE_MS_MAX = 11_000;

interface TimelineEvent {
  readonly type: string;
  readonly attempt?: number;
  readonly next_attempt_at?: string;
  readonly ambiguous?: boolean;
}

interface Email {
  readonly id: string;
  readonly status: string;
  readonly next_attempt_at: string | null;
  readonly timeline: readonly TimelineEvent[];
}

let sink: RawSink;
let dataDir: string;
let service: TestProcess | undefined;

beforeAll(async () => {
  sink = await startRawSink();
  dataDir = await mkdtemp(join(tmpdir(), "postledger-retries-"));
});

afterAll(async () => {
  await service?.kill("SIGKILL");
  await sink.close();
  await rm(dataDir, { recursive: true, force: true });
});

function start(): Promise<TestProcess> {
  const env = {
    SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
    DELIVERY_RETRY_BASE_MS: String(RETRY_BASE_MS),
    DELIVERY_LEASE_MS: "5000",
  };
  return startTestProcess({ dataDir, env });
}

async function read(from: TestProcess, id: string): Promise<Email> {
  return (await from.call("GET", `/api/v1/emails/${id}`)).json as Email;
}

async function readAllAs(from: TestProcess, ids: readonly string[], status: string): Promise<Email[]> {
  let emails: Email[] = [];
  await until(async () => {
    emails = await Promise.all(ids.map((id) => read(from, id)));
    return emails.every((email) => email.status === status);
  }, `all messages to be ${status}`);
  return emails;
}

test("greylisted mail is delivered on time after kill -9, with its history intact", async () => {
  sink.onStage = (stage) => (stage === "rcpt" ? "451 4.7.1 greylisted, come again" : undefined);
  const first = await start();
  service = first;
  const ids: string[] = [];
  for (let index = 0; index < MESSAGES; index += 1) {
    const answer = await first.send(`greylisted-${index}`, {
      from: "hello@example.com",
      to: `grey-${index}@example.net`,
      subject: `Grey ${index}`,
      text: "Come again.",
    });
    ids.push(answer.json.id);
  }
  const before = await readAllAs(first, ids, "deferred");
  await first.kill("SIGKILL");
  sink.onStage = null;

  const second = await start();
  service = second;
  const startedAt = Date.now();
  const after = await readAllAs(second, ids, "sent");

  for (const [index, email] of after.entries()) {
    const dueAt = Date.parse(before[index]?.next_attempt_at ?? "");
    const copies = sink.copiesById.get(email.id) ?? [];
    expect(copies).toHaveLength(1);
    expect(copies[0]?.at).toBeGreaterThanOrEqual(dueAt);
    expect(copies[0]?.at).toBeLessThanOrEqual(Math.max(dueAt, startedAt) + LATE_MS_MAX);
    const history = before[index]?.timeline ?? [];
    expect(email.timeline.slice(0, history.length)).toEqual([...history]);
    expect(email.timeline.map(({ type }) => type)).toEqual([
      "content_stored",
      "queued",
      "delivery_started",
      "deferred",
      "delivery_started",
      "sent",
    ]);
    expect(history.at(-1)).toMatchObject({ attempt: 1, attempt_burnt: true, ambiguous: false, code: 451 });
    expect(email.timeline.at(-1)).toMatchObject({ attempt: 2 });
  }
}, 120_000);
