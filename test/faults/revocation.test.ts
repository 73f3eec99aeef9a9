import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { apiKeyStream } from "../../src/domain/apiKey/events.ts";
import { emailStream } from "../../src/domain/email/events.ts";
import { suppressionStream } from "../../src/domain/suppression/events.ts";
import { webhooksStream } from "../../src/domain/webhook/events.ts";
import { openStore } from "../../src/service/adapters/openStore.ts";
import { readConfig } from "../../src/service/config/config.ts";
import { lastAcceptedMs } from "../support/lastAcceptedMs.ts";
import { type Answer, callerOf, startTestProcess, type TestProcess } from "../support/service.ts";
import { canStartEventStoreDb, startEventStoreDb } from "../support/stores/eventstoredb.ts";
import { until } from "../support/until.ts";

const TEST_MS_MAX = 120_000;
/** A revocation holds everywhere within this time. */
const REVOKED_MS_MAX = 1_000;
const KEYS = "/api/v1/api-keys";
/** Answered from the log alone. */
const OPENED = "/api/v1/emails?idempotency_key=never-used";

/** A log that only two instances share. */
interface SharedLog {
  readonly name: string;
  /** Answers the STORE_URL. */
  start(root: string): Promise<string>;
  stop(): Promise<void>;
}

function logs(): readonly SharedLog[] {
  const file: SharedLog = {
    name: "SQLite",
    start: async (root) => `file:${join(root, "log")}`,
    stop: async () => {},
  };
  if (!canStartEventStoreDb) return [file];
  let kill = async () => {};
  const server: SharedLog = {
    name: "EventStoreDB",
    async start() {
      const started = await startEventStoreDb();
      kill = started.process.kill;
      return started.url;
    },
    stop: () => kill(),
  };
  return [file, server];
}

describe.each(logs())("two instances on one $name log", (log) => {
  let root: string;
  let env: Record<string, string>;
  let first: TestProcess;
  let second: TestProcess;
  beforeAll(async () => {
    root = await mkdtemp(join(tmpdir(), "postledger-revocation-"));
    env = {
      STORE_URL: await log.start(root),
      CONTENT_URL: `file:${join(root, "content")}`,
      MASTER_KEY: crypto.getRandomValues(new Uint8Array(32)).toBase64(),
      DELIVERY: "off",
    };
    first = await startTestProcess({ dataDir: join(root, "one"), env: { ...env, BOOTSTRAP: "on" } });
    second = await startTestProcess({ dataDir: join(root, "two"), env: { ...env, BOOTSTRAP: "off" } });
  }, TEST_MS_MAX);
  afterAll(async () => {
    await Promise.all([first, second].map((service) => service?.kill("SIGKILL")));
    await log.stop();
    await rm(root, { recursive: true, force: true });
  });

  /** Issues and revokes a key at one instance, and expects the other to refuse it in time. */
  const expectRevokedAt = async (revoking: TestProcess, other: TestProcess) => {
    const owner = callerOf(revoking.url, first.apiKey);
    const body = { name: "short-lived", scopes: ["email:read"] };
    const { json } = await owner.call("POST", KEYS, { body });
    const callOther = () => callerOf(other.url, json.key).call("GET", OPENED);
    // After this both instances have cached the key as valid.
    expect((await callOther()).status).toBe(200);
    expect((await callerOf(revoking.url, json.key).call("GET", OPENED)).status).toBe(200);
    expect((await owner.call("POST", `${KEYS}/${json.id}/revoke`)).status).toBe(200);
    expect((await callerOf(revoking.url, json.key).call("GET", OPENED)).status).toBe(401);
    const isAcceptedByOther = async () => (await callOther()).status !== 401;
    const lastMs = await lastAcceptedMs(isAcceptedByOther, "the other instance to shut the key out");
    expect(lastMs).toBeLessThan(REVOKED_MS_MAX);
  };

  /** A read model stops at an event that it cannot read. */
  const stopReadModels = async () => {
    const store = await openStore(readConfig({ ...env, DATA_DIR: root }));
    const streams = {
      ApiKeyIssued: apiKeyStream("unreadable"),
      RecipientSuppressed: suppressionStream("unreadable"),
      EmailQueued: emailStream("unreadable"),
      WebhookEndpointRegistered: webhooksStream("unreadable"),
    };
    const metadata = { schema: 1, at: new Date().toISOString(), correlationId: "test", actor: "test" };
    for (const [type, stream] of Object.entries(streams)) {
      const event = { id: crypto.randomUUID(), type, data: { unreadable: true }, metadata };
      await store.append(stream, [event], "noStream");
    }
    await store.close();
  };

  test(
    "a key revoked on one is refused by the other within a second",
    async () => {
      for (const [revoking, other] of [[first, second] as const, [second, first] as const])
        await expectRevokedAt(revoking, other);
    },
    TEST_MS_MAX,
  );

  test(
    "also while no read model follows the log",
    async () => {
      await stopReadModels();
      const isStopped = ({ status, json }: Answer) => status === 503 && json.code === "INTERNAL_ERROR";
      const isStoppedAt = async ({ url }: TestProcess) => {
        const owner = callerOf(url, first.apiKey);
        // Each list waits until its time-out, so all are requested at once.
        const lists = [KEYS, "/api/v1/suppressions"].map((path) => owner.call("GET", path));
        return (await Promise.all(lists)).every(isStopped);
      };
      const haveAllStopped = async () => {
        const stopped = await Promise.all([first, second].map(isStoppedAt));
        return stopped.every((isTrue) => isTrue);
      };
      await until(haveAllStopped, "the read models to stop");
      for (const [revoking, other] of [[first, second] as const, [second, first] as const])
        await expectRevokedAt(revoking, other);
    },
    TEST_MS_MAX,
  );
});
