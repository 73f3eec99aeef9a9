import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Answer, startTestProcess, type TestProcess } from "../support/service.ts";
import { canStartEventStoreDb, startEventStoreDb } from "../support/stores/eventstoredb.ts";
import { until } from "../support/until.ts";
import { Load } from "./crash/load.ts";
import { type RawSink, startRawSink } from "./crash/rawSink.ts";
import { readEmailHistories } from "./crash/readEmailHistories.ts";
import { repeatRequests, waitUntilTerminal } from "./crash/settle.ts";

const TEST_MS_MAX = 240_000;
/** The store's call time-out: short, so that requests soon notice an absent store, and shorter than a lease. */
const STORE_TIMEOUT_MS = 1_000;
/** What each kind of call may take the first time: a server that has just started compiles it then. */
const FIRST_CALL_MS_MAX = 60_000;
/** A send makes one call or two, each of which may overrun by a second; the rest is for a busy machine. */
const ANSWER_MS_MAX = 10 * STORE_TIMEOUT_MS;
const TERMINAL_MS_MAX = 90_000;
const LOAD_MS = 700;
const DOWN_MS = 2_500;
const ROUNDS = 2;

type Server = Awaited<ReturnType<typeof startEventStoreDb>>;

describe.skipIf(!canStartEventStoreDb)("EventStoreDB away", () => {
  let server: Server;
  let sink: RawSink;
  let dataDir: string;
  let env: Record<string, string>;
  let service: TestProcess;
  let load: Load;

  beforeAll(async () => {
    server = await startEventStoreDb();
    sink = await startRawSink();
    dataDir = await mkdtemp(join(tmpdir(), "postledger-away-"));
    env = {
      DATA_DIR: dataDir,
      STORE_URL: server.url,
      STORE_TIMEOUT_MS: String(STORE_TIMEOUT_MS),
      MASTER_KEY: crypto.getRandomValues(new Uint8Array(32)).toBase64(),
      SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
      // Longer than an attempt takes on a busy machine: what may have been sent is sent again.
      DELIVERY_LEASE_MS: "10000",
      DELIVERY_RETRY_BASE_MS: "100",
      DELIVERY_RELAY_RETRY_MS: "100",
      BOOTSTRAP: "on",
    };
    const first = { ...env, STORE_TIMEOUT_MS: String(FIRST_CALL_MS_MAX) };
    await (await startTestProcess({ dataDir, env: first })).kill("SIGTERM");
    service = await startTestProcess({ dataDir, env });
    load = new Load({ posters: 6, backlog: (accepted) => accepted - sink.copiesById.size });
    load.backlogMax = 200;
    load.setTarget(service);
  }, TEST_MS_MAX);

  afterAll(async () => {
    await service?.kill("SIGKILL");
    await sink?.close();
    await server?.process.kill();
    await rm(dataDir, { recursive: true, force: true });
  });

  const ready = async () => (await service.call("GET", "/health/ready")).status;

  async function sendWhileAway(): Promise<Answer> {
    const { key, to, subject } = load.newPost();
    const startedAt = performance.now();
    const body = { from: "hello@example.com", to, subject, text: `This is ${subject}.` };
    const answer = await service.send(key, body);
    expect(performance.now() - startedAt).toBeLessThan(ANSWER_MS_MAX);
    return answer;
  }

  async function takeServerDown(): Promise<void> {
    load.start();
    await Bun.sleep(LOAD_MS);
    await server.process.kill();
    await Bun.sleep(DOWN_MS);
    for (const answer of await Promise.all(Array.from({ length: 5 }, sendWhileAway))) {
      expect(answer.status).toBe(503);
      expect(answer.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
      expect(answer.json).toMatchObject({ code: "INTERNAL_ERROR", status: 503, retryable: true });
    }
    const listed = await service.call("GET", "/webhooks");
    expect(listed).toMatchObject({ status: 503, json: { code: "INTERNAL_ERROR", retryable: true } });
    const readiness = await service.call("GET", "/health/ready");
    expect(readiness).toMatchObject({ status: 503, json: { status: "unavailable" } });
    expect(readiness.json.checks.store).toMatchObject({ ok: false, detail: "not answering" });
    expect((await service.call("GET", "/health/live")).status).toBe(200);
    await server.process.start();
    await until(async () => (await ready()) === 200, "the service to be ready again");
    await Bun.sleep(LOAD_MS);
    await load.stop();
  }

  test(
    "sends are refused with 503 while it is unavailable, every 202 is in its log, and service resumes when it is back",
    async () => {
      for (let round = 0; round < ROUNDS; round += 1) await takeServerDown();
      expect(load.unavailable).toBeGreaterThan(0);
      // With so short a time-out a busy machine may refuse some of them once more.
      await until(async () => {
        await repeatRequests(load, load.unanswered());
        return load.unanswered().length === 0;
      }, "every send to be accepted");
      const newest = load.newPost();
      await until(() => load.request(newest), "the newest send to be accepted");
      expect(load.problems).toEqual([]);
      expect(await waitUntilTerminal(service, load.posts, TERMINAL_MS_MAX)).toEqual([]);
      const listed = await service.call("GET", "/api/v1/emails?status=sent&limit=1");
      expect(listed.json.data[0].id).toBe(newest.receipt?.id);
      expect(await service.kill("SIGTERM")).toBe(0);

      const histories = await readEmailHistories(env);
      expect(histories.size).toBe(load.posts.length);
      for (const { receipt } of load.posts) {
        const id = receipt?.id ?? "";
        expect(histories.get(id)?.state?.status).toBe("sent");
        // The process survived and knows what it sent, so the store's absence repeats nothing.
        expect(sink.copiesById.get(id)).toHaveLength(1);
      }
    },
    TEST_MS_MAX,
  );

  test(
    "health tells the process from the store, also if the store may take longer than a request",
    async () => {
      const patient = { ...env, DELIVERY: "off", STORE_TIMEOUT_MS: "60000", REQUEST_TIMEOUT_MS: "20000" };
      await service.kill("SIGKILL");
      const waiting = await startTestProcess({ dataDir, env: patient });
      try {
        await server.process.kill();
        expect((await waiting.call("GET", "/health/live")).status).toBe(200);
        const { status, json } = await waiting.call("GET", "/health/ready");
        expect({ status, store: json.checks?.store }).toMatchObject({ status: 503, store: { ok: false } });
        expect((await waiting.call("GET", "/health/live")).status).toBe(200);
      } finally {
        await waiting.kill("SIGKILL");
        await server.process.start();
      }
    },
    TEST_MS_MAX,
  );
});
