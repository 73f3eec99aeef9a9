import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type QuotaEvent, quotaCodec } from "../../src/domain/quota/events.ts";
import { LOG_START } from "../../src/ports/eventStore.ts";
import { openStore } from "../../src/service/adapters/openStore.ts";
import { dayWithRoom } from "../support/dayWithRoom.ts";
import { startTestProcess, type TestProcess } from "../support/service.ts";
import { canStartEventStoreDb, startEventStoreDb } from "../support/stores/eventstoredb.ts";
import { until } from "../support/until.ts";

const TEST_MS_MAX = 120_000;
/** More than a test takes on a busy machine. */
const DAY_ROOM_MS = 100_000;
const LIMIT = 1_000;
const CLIENTS_PER_INSTANCE = 20;
/** How many are accepted when the kill comes. */
const KILL_AT = 300;

type Server = Awaited<ReturnType<typeof startEventStoreDb>>;

describe.skipIf(!canStartEventStoreDb)("a daily limit of 1,000 on two instances of one log", () => {
  let server: Server;
  let root: string;
  let services: readonly [TestProcess, TestProcess];
  let accepted: string[];

  beforeEach(async () => {
    await dayWithRoom(DAY_ROOM_MS);
    server = await startEventStoreDb();
    root = await mkdtemp(join(tmpdir(), "postledger-limit-"));
    accepted = [];
    const env = {
      STORE_URL: server.url,
      CONTENT_URL: `file:${join(root, "content")}`,
      MASTER_KEY: crypto.getRandomValues(new Uint8Array(32)).toBase64(),
      LIMIT_MESSAGES_PER_DAY: String(LIMIT),
      DELIVERY: "off",
      BOOTSTRAP: "on",
    };
    const start = (name: string) => startTestProcess({ dataDir: join(root, name), env });
    services = [await start("one"), await start("two")];
  }, TEST_MS_MAX + DAY_ROOM_MS);

  afterEach(async () => {
    await Promise.all(services.map((service) => service.kill("SIGKILL")));
    await server.process.kill();
    await rm(root, { recursive: true, force: true });
  });

  /** Sends until the limit is reported, or the service is gone. */
  const client = async (service: TestProcess, name: string): Promise<void> => {
    for (let number = 0; ; number += 1) {
      const body = {
        from: "hello@example.com",
        to: "someone@example.net",
        subject: `${name} ${number}`,
        text: "Hello",
      };
      // The second instance has no key of its own, since the first one began the log.
      const headers = {
        authorization: `Bearer ${services[0].apiKey}`,
        "idempotency-key": `client-${name}-${number}`,
      };
      const answer = await service.call("POST", "/api/v1/emails", { body, headers }).catch(() => null);
      if (answer === null || answer.json?.code === "DAILY_LIMIT_REACHED") return;
      expect(answer.status).toBe(202);
      accepted.push(answer.json.id);
    }
  };
  const allClients = () =>
    services.flatMap((service, index) =>
      Array.from({ length: CLIENTS_PER_INSTANCE }, (_, number) => client(service, `${index}-${number}`)),
    );

  /** The messages in the log, and the blocks of the day's quota that instances have reserved. */
  const readLog = async () => {
    const log = await openStore({ storeUrl: server.url, storeTimeoutMs: 10_000 });
    const ids: string[] = [];
    const quota: QuotaEvent[] = [];
    for await (const { events } of log.readAll(LOG_START, { types: ["EmailQueued", ...quotaCodec.types] })) {
      for (const event of events) {
        if (event.type === "EmailQueued") ids.push(event.stream);
        else quota.push(quotaCodec.decode(event));
      }
    }
    await log.close();
    return { ids, quota };
  };

  test(
    "exactly 1,000 are accepted",
    async () => {
      await Promise.all(allClients());
      expect(accepted).toHaveLength(LIMIT);
      const { ids, quota } = await readLog();
      expect(ids).toHaveLength(LIMIT);
      expect(new Set(quota.map(({ data }) => data.instance)).size).toBe(2);
    },
    TEST_MS_MAX,
  );

  test(
    "at most 1,000 are when one is killed midway, and no fewer than its reserved block explains",
    async () => {
      const clients = Promise.all(allClients());
      await until(() => accepted.length >= KILL_AT, "the moment to kill", TEST_MS_MAX);
      await services[0].kill("SIGKILL");
      await clients;
      const { ids, quota } = await readLog();
      const survivingInstance = quota.at(-1)?.data.instance;
      const reservedByKilled =
        quota.findLast(({ data }) => data.instance !== survivingInstance)?.data.count ?? 0;
      console.log(
        `${ids.length} accepted of ${LIMIT}; the killed instance had a block of ${reservedByKilled} in hand`,
      );
      expect(accepted.length).toBeGreaterThanOrEqual(KILL_AT);
      expect(ids.length).toBeLessThanOrEqual(LIMIT);
      expect(ids.length).toBeGreaterThanOrEqual(LIMIT - reservedByKilled);
      expect(accepted.every((id) => ids.includes(`email-${id}`))).toBeTrue();
    },
    TEST_MS_MAX,
  );
});
