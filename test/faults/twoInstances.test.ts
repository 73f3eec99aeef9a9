import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { callerOf, startTestProcess, type TestProcess } from "../support/service.ts";
import { canStartEventStoreDb, startEventStoreDb } from "../support/stores/eventstoredb.ts";
import { until } from "../support/until.ts";
import { type RawSink, startRawSink } from "./crash/rawSink.ts";
import { readEmailHistories } from "./crash/readEmailHistories.ts";

const TEST_MS_MAX = 120_000;
const TERMINAL_MS_MAX = 90_000;
/** Keys sent to both instances at the same moment. */
const RACED_KEYS = 25;
const REQUESTS_PER_INSTANCE = 2;
/** One message in so many is too large for an event, so its content is in the shared store. */
const MESSAGES = 120;
const LARGE_EVERY = 30;
const LARGE_CHARACTERS = 190_000;

type Server = Awaited<ReturnType<typeof startEventStoreDb>>;

const newMasterKey = () => crypto.getRandomValues(new Uint8Array(32)).toBase64();

describe.skipIf(!canStartEventStoreDb)("two instances on one EventStoreDB", () => {
  let server: Server;
  let sink: RawSink;
  let root: string;
  let env: Record<string, string>;
  let first: TestProcess;
  let second: TestProcess;

  beforeAll(async () => {
    server = await startEventStoreDb();
    sink = await startRawSink();
    root = await mkdtemp(join(tmpdir(), "postledger-two-"));
    env = {
      STORE_URL: server.url,
      CONTENT_URL: `file:${join(root, "content")}`,
      MASTER_KEY: newMasterKey(),
      SMTP_URL: `smtp://127.0.0.1:${sink.port}`,
      SMTP_CONNECTIONS_MAX: "2",
      BOOTSTRAP: "on",
    };
    // Both find the log empty: racing first starts must settle which one begins it.
    const started = await Promise.all([start("one"), start("two")]);
    // On a busy machine one may be done before the other looks: that one makes no key, and takes the first one's.
    const apiKey = started.find((service) => service.apiKey !== "")?.apiKey ?? "";
    [first, second] = started.map((service) =>
      service.apiKey === "" ? { ...service, ...callerOf(service.url, apiKey), apiKey } : service,
    ) as [TestProcess, TestProcess];
  }, TEST_MS_MAX);

  afterAll(async () => {
    await Promise.all([first, second].map((service) => service?.kill("SIGKILL")));
    await sink?.close();
    await server?.process.kill();
    await rm(root, { recursive: true, force: true });
  });

  function start(name: string, changes: Record<string, string> = {}): Promise<TestProcess> {
    return startTestProcess({ dataDir: join(root, name), env: { ...env, ...changes } });
  }

  function email(index: number, large = false) {
    return {
      from: "hello@example.com",
      to: `someone-${index}@example.net`,
      subject: `Message ${index}`,
      text: large ? "x".repeat(LARGE_CHARACTERS) : "Hello.",
      ...(large ? { html: "y".repeat(2 * LARGE_CHARACTERS) } : {}),
    };
  }

  test(
    "both start on one log, and each accepts the other's key",
    async () => {
      for (const service of [first, second]) {
        for (const { apiKey } of [first, second]) {
          const headers = { authorization: `Bearer ${apiKey}` };
          expect((await service.call("GET", "/api/v1/emails", { headers })).status).toBe(200);
        }
      }
    },
    TEST_MS_MAX,
  );

  test(
    "a key that races at both is one message with equal answers, and changed content is a conflict at both",
    async () => {
      for (let index = 0; index < RACED_KEYS; index += 1) {
        const key = `raced-key-${index}`;
        const racing = Array.from({ length: 2 * REQUESTS_PER_INSTANCE }, (_, number) =>
          (number % 2 === 0 ? first : second).send(key, email(index)),
        );
        const answers = await Promise.all(racing);
        expect(answers.map(({ status }) => status)).toEqual(racing.map(() => 202));
        expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
        expect(answers.filter(({ headers }) => !headers.has("idempotent-replayed"))).toHaveLength(1);
        for (const service of [first, second]) {
          const changed = await service.send(key, { ...email(index), subject: "Changed" });
          expect(changed).toMatchObject({ status: 409, json: { code: "IDEMPOTENCY_CONFLICT" } });
        }
      }
    },
    TEST_MS_MAX,
  );

  test(
    "a webhook endpoint that one registers is in the other's list at once",
    async () => {
      for (const [index, service] of [first, second, first].entries()) {
        const url = `https://hooks-${index}.example.com/postledger`;
        expect((await service.call("POST", "/webhooks", { body: { url } })).status).toBe(201);
        const lists = await Promise.all([first, second].map((one) => one.call("GET", "/webhooks")));
        expect(lists.map(({ status }) => status)).toEqual([200, 200]);
        expect(lists[0]?.json.data).toHaveLength(index + 1);
        expect(lists[0]?.json).toEqual(lists[1]?.json);
      }
    },
    TEST_MS_MAX,
  );

  test(
    "they share delivery: each message goes out once, and both deliver",
    async () => {
      // A slow relay, so that the same instance is not always first.
      sink.onStage = async () => {
        await Bun.sleep(2);
        return undefined;
      };
      const sent = await Promise.all(
        Array.from({ length: MESSAGES }, (_, index) => {
          const large = index % LARGE_EVERY === 0;
          return (index % 2 === 0 ? first : second).send(`shared-${index}`, email(index, large));
        }),
      );
      expect(new Set(sent.map(({ status }) => status))).toEqual(new Set([202]));
      const ids = sent.map(({ json }) => String(json.id));
      const terminal = async () => {
        const emails = await Promise.all(ids.map((id) => second.call("GET", `/api/v1/emails/${id}`)));
        return emails.every(({ json }) => json.status === "sent");
      };
      await until(terminal, "every message to be sent", TERMINAL_MS_MAX);

      const histories = await readEmailHistories(env);
      const workers = new Set<string>();
      for (const id of ids) {
        expect(sink.copiesById.get(id)).toHaveLength(1);
        const claims = (histories.get(id)?.events ?? []).flatMap(({ event }) =>
          event.type === "EmailDeliveryStarted" ? [event.data.worker] : [],
        );
        expect(claims).toHaveLength(1);
        for (const worker of claims) workers.add(worker);
      }
      expect(workers.size).toBe(2);
    },
    TEST_MS_MAX,
  );

  test(
    "an instance with another MASTER_KEY or content store does not start, and says what to do",
    async () => {
      const otherKey = await start("three", { MASTER_KEY: newMasterKey() }).catch(String);
      expect(otherKey).toContain("MASTER_KEY is not the log's present key");
      expect(otherKey).toContain("MASTER_KEY_PREVIOUS");
      const CONTENT_URL = `file:${join(root, "other-content")}`;
      const otherContent = await start("four", { CONTENT_URL }).catch(String);
      expect(otherContent).toContain("set CONTENT_URL");
    },
    TEST_MS_MAX,
  );
});
