import { afterAll, afterEach, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { createDependencies } from "../../../src/commands/createDependencies.ts";
import { newId } from "../../../src/kernel/ids.ts";
import { setLimits } from "../../support/limits.ts";
import { rawRequest } from "../../support/servers/rawRequest.ts";
import { type Answer, callerOf, startTestProcess } from "../../support/service.ts";
import { testStores } from "../../support/stores/stores.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

/** Large bodies take their time where the cores are shared. */
setDefaultTimeout(120_000);

const DAY_SECONDS = 24 * 60 * 60;
/** When a connection is to close, a refusal waits half a second for the body; after that, all is a busy machine. */
const ANSWER_MS_MAX = 10_000;
const stores = await testStores();
/** For what the store has no part in. */
const sqlite = stores.slice(0, 1);

function problemOf({ status, json }: Answer) {
  return { status, code: json?.code, retryable: json?.retryable };
}

describe.each(stores)("limits on $name", (store) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService(store);
  });
  afterAll(() => service.remove());

  const limited = async (messagesPerDay: number): Promise<Tenant> => {
    const tenant = await service.tenant();
    await setLimits(service.log, tenant.workspaceId, { messagesPerDay });
    return tenant;
  };

  describe("the daily limit", () => {
    test("is answered by DAILY_LIMIT_REACHED until the next UTC day", async () => {
      const tenant = await limited(2);
      for (const _ of [1, 2]) expect((await tenant.send(newKey(), message())).status).toBe(202);
      const answer = await tenant.send(newKey(), message());
      expect(problemOf(answer)).toEqual({ status: 429, code: "DAILY_LIMIT_REACHED", retryable: true });
      const left = DAY_SECONDS - ((Date.now() / 1_000) % DAY_SECONDS);
      expect(Math.abs(Number(answer.headers.get("retry-after")) - left)).toBeLessThan(60);
    });

    // All services on a shared store have one log, and a first run has happened.
    test.skipIf(store.isShared)("is warned of by one log line when 80 % of it is used", async () => {
      const dataDir = temporaryFolder();
      const own = await startTestProcess({ dataDir, env: { LIMIT_MESSAGES_PER_DAY: "5" } });
      const lines = () => own.log().split("used 80 % of its daily limit").length - 1;
      for (let sent = 0; sent < 5; sent += 1) {
        expect(lines()).toBe(sent < 4 ? 0 : 1);
        expect((await own.send(newKey(), message({ from: "hello@example.com" }))).status).toBe(202);
        if (sent === 3) await until(() => lines() === 1, "the line");
      }
      await own.kill("SIGTERM");
      expect(lines()).toBe(1);
    });

    test("lets exactly so many through of those who come at once", async () => {
      const tenant = await limited(40);
      const answers = await Promise.all(Array.from({ length: 100 }, () => tenant.send(newKey(), message())));
      expect(answers.filter(({ status }) => status === 202)).toHaveLength(40);
      expect(answers.filter(({ json }) => json.code === "DAILY_LIMIT_REACHED")).toHaveLength(60);
    });

    test("does not stand in the way of a retry, which gets the first answer", async () => {
      const tenant = await limited(1);
      const key = newKey();
      const first = await tenant.send(key, message());
      expect((await tenant.send(newKey(), message())).status).toBe(429);
      const repeat = await tenant.send(key, message());
      expect({ status: repeat.status, text: repeat.text }).toEqual({ status: 202, text: first.text });
      expect(repeat.headers.get("idempotent-replayed")).toBe("true");
      expect((await tenant.send(key, message({ subject: "Changed" }))).json.code).toBe(
        "IDEMPOTENCY_CONFLICT",
      );
    });

    test("is not used up by retries, conflicts and refusals, nor is a refused key", async () => {
      const tenant = await limited(3);
      const key = newKey();
      for (const _ of [1, 2, 3]) expect((await tenant.send(key, message())).status).toBe(202);
      expect((await tenant.send(key, message({ subject: "Changed" }))).status).toBe(409);
      expect((await tenant.send(newKey(), message({ from: "no@example.com" }))).status).toBe(422);
      for (const _ of [1, 2]) expect((await tenant.send(newKey(), message())).status).toBe(202);
      const refused = newKey();
      expect((await tenant.send(refused, message())).status).toBe(429);
      await setLimits(service.log, tenant.workspaceId, { messagesPerDay: 4 });
      await until(async () => (await tenant.send(refused, message())).status === 202, "the raised limit");
      expect((await tenant.send(newKey(), message())).status).toBe(429);
    });

    test("counts suppressed messages, which are accepted too", async () => {
      const tenant = await limited(1);
      await service.suppress(tenant.workspaceId, "gone@example.net");
      const accept = async () => (await tenant.send(newKey(), message({ to: "gone@example.net" }))).status;
      expect([await accept(), await accept()]).toEqual([202, 429]);
    });
  });

  test("the storage quota holds for instances that race", async () => {
    const { workspaceId } = await service.tenant({ sender: null });
    await setLimits(service.log, workspaceId, { storageBytes: 1_000 });
    const ledgers = [createDependencies(service.log), createDependencies(service.log)].map(
      ({ storage }) => storage,
    );
    const context = { at: Date.now(), correlationId: "test", actor: "test" };
    const holders = Array.from({ length: 80 }, () => `attachment-${newId()}`);
    const reserve = (holder: string, index: number) =>
      ledgers[index % 2]?.reserve(workspaceId, holder, 25, context);
    const reserved = await Promise.all(holders.map(reserve));
    expect(reserved.filter((outcome) => outcome === "reserved")).toHaveLength(40);
    for (const holder of holders) await ledgers[0]?.release(workspaceId, holder, context);
    expect(await ledgers[1]?.used(workspaceId)).toBe(0);
  });
});

describe.each(sqlite)("rate limits on $name", (store) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService(store);
  });
  afterAll(() => service.remove());

  const PER_SECOND = 5;
  /** Enough to be over the limit even when a window ends in between. */
  const BURST = 4 * PER_SECOND;
  const limitedTo = async (limits: Parameters<typeof setLimits>[2]): Promise<Tenant> => {
    const tenant = await service.tenant();
    await setLimits(service.log, tenant.workspaceId, limits);
    return tenant;
  };
  const burst = (request: () => Promise<Answer>) => Promise.all(Array.from({ length: BURST }, request));
  const limitedOf = (answers: readonly Answer[]) => answers.filter(({ status }) => status === 429);

  test("are omitted where there are none", async () => {
    const tenant = await service.tenant();
    const { headers } = await tenant.call("GET", "/api/v1/emails");
    expect([headers.get("ratelimit"), headers.get("ratelimit-policy")]).toEqual([null, null]);
  });

  test("of a key and its workspace are in every answer, refusals too", async () => {
    const tenant = await limitedTo({ keyRequestsPerSecond: 1_000, workspaceRequestsPerSecond: 2_000 });
    const reader = await tenant.withKey({ scopes: ["email:read"] });
    const answers = [
      await tenant.send(newKey(), message()),
      await tenant.send("short", message()),
      await tenant.send(newKey(), { nothing: 1 }),
      await tenant.call("GET", "/webhooks"),
      await tenant.call("GET", `/api/v1/emails/${newId()}`),
      await reader.send(newKey(), message()),
    ];
    expect(answers.map(({ status }) => status)).toEqual([202, 400, 400, 200, 404, 403]);
    for (const { headers } of answers) {
      expect(headers.get("ratelimit-policy")).toBe('"key";q=1000;w=1, "workspace";q=2000;w=1');
      expect(headers.get("ratelimit")).toMatch(/^"key";r=99\d;t=1, "workspace";r=199\d;t=1$/);
    }
  });

  test("of a key are RATE_LIMITED with Retry-After, and leave the workspace's other keys alone", async () => {
    const tenant = await limitedTo({ keyRequestsPerSecond: PER_SECOND });
    const other = await tenant.withKey({});
    const limited = limitedOf(await burst(() => tenant.call("GET", "/api/v1/emails")));
    expect(limited.length).toBeGreaterThan(0);
    for (const answer of limited) {
      expect(problemOf(answer)).toEqual({ status: 429, code: "RATE_LIMITED", retryable: true });
      expect(answer.headers.get("retry-after")).toBe("1");
      expect(answer.headers.get("ratelimit")).toBe('"key";r=0;t=1');
    }
    expect((await other.call("GET", "/api/v1/emails")).status).toBe(200);
    await until(async () => (await tenant.call("GET", "/api/v1/emails")).status === 200, "the next window");
  });

  test("of a workspace hold for all of its keys together, and for no other workspace", async () => {
    const tenant = await limitedTo({ workspaceRequestsPerSecond: PER_SECOND });
    const keys = [tenant, await tenant.withKey({}), await tenant.withKey({})];
    let turn = 0;
    const answers = await burst(() => (keys[turn++ % 3] as Tenant).call("GET", "/webhooks"));
    expect(limitedOf(answers).length).toBeGreaterThan(0);
    expect(limitedOf(answers)[0]?.headers.get("ratelimit")).toBe('"workspace";r=0;t=1');
    const otherTenant = await limitedTo({ workspaceRequestsPerSecond: PER_SECOND });
    expect((await otherTenant.call("GET", "/webhooks")).status).toBe(200);
  });

  test("that change are in force within a second", async () => {
    const tenant = await limitedTo({ keyRequestsPerSecond: 1_000 });
    const list = () => tenant.call("GET", "/api/v1/emails");
    expect(limitedOf(await burst(list))).toEqual([]);
    await setLimits(service.log, tenant.workspaceId, { keyRequestsPerSecond: 1 });
    await until(async () => limitedOf(await burst(list)).length > 0, "the lowered limit");
  });

  test("come after a missing scope and before the rest of the request", async () => {
    const tenant = await limitedTo({ keyRequestsPerSecond: 1 });
    const reader = await tenant.withKey({ scopes: ["email:read"] });
    const forbidden = await burst(() => reader.send("", "nothing"));
    expect(new Set(forbidden.map(({ json }) => json.code))).toEqual(new Set(["FORBIDDEN"]));
    const wrong = await burst(() => tenant.send("", "nothing"));
    expect(new Set(wrong.map(({ json }) => json.code))).toEqual(
      new Set(["IDEMPOTENCY_KEY_REQUIRED", "RATE_LIMITED"]),
    );
  });

  test("are answered before the body is read", async () => {
    const tenant = await limitedTo({ keyRequestsPerSecond: 1 });
    const unsent = () =>
      rawRequest(service.url, [
        "POST /api/v1/emails HTTP/1.1",
        "Host: localhost",
        `Authorization: Bearer ${tenant.apiKey}`,
        "Content-Type: application/json",
        `Idempotency-Key: ${newKey()}`,
        "Content-Length: 1000",
        "Connection: close",
        "",
        "",
      ]);
    await until(async () => {
      await tenant.call("GET", "/webhooks");
      const early = await Promise.race([unsent(), Bun.sleep(ANSWER_MS_MAX).then(() => "")]);
      return early.startsWith("HTTP/1.1 429");
    }, "an answer without a body");
  });
});

describe.each(sqlite)("failed authentications on $name", (store) => {
  const FAILURES = 5;
  let service: TestService;
  afterEach(() => service.remove());

  const guess = (forwardedFor: string | null = null) =>
    callerOf(service.url, "pl_wrong").call("GET", "/api/v1/emails", {
      headers: forwardedFor === null ? {} : { "x-forwarded-for": forwardedFor },
    });
  const statuses = async (count: number, forwardedFor: (index: number) => string | null = () => null) => {
    const found: number[] = [];
    for (let index = 0; index < count; index += 1) found.push((await guess(forwardedFor(index))).status);
    return found;
  };

  test("of one client address become RATE_LIMITED, and a valid key still works there", async () => {
    service = await startService(store, { AUTH_FAILURES_PER_MINUTE: String(FAILURES) });
    const tenant = await service.tenant();
    expect(await statuses(FAILURES)).toEqual(Array(FAILURES).fill(401));
    const limited = await guess();
    expect(problemOf(limited)).toEqual({ status: 429, code: "RATE_LIMITED", retryable: true });
    expect(limited.json.detail).toBe(
      "too many requests without a valid API key came from this address: check the key",
    );
    const retryAfter = Number(limited.headers.get("retry-after"));
    expect(retryAfter).toBeGreaterThanOrEqual(1);
    expect(retryAfter).toBeLessThanOrEqual(60);
    expect((await tenant.call("GET", "/api/v1/emails")).status).toBe(200);
    const send = await callerOf(service.url, "pl_wrong").send(newKey(), message());
    expect(send.json.code).toBe("RATE_LIMITED");
  });

  test("go by the connection: nobody hides behind X-Forwarded-For", async () => {
    service = await startService(store, { AUTH_FAILURES_PER_MINUTE: String(FAILURES) });
    const all = await statuses(FAILURES + 2, (index) => `198.51.100.${index}`);
    expect(all.slice(-2)).toEqual([429, 429]);
  });

  test("go by what a trusted proxy says, an IPv6 network of 64 bits as one client", async () => {
    service = await startService(store, {
      AUTH_FAILURES_PER_MINUTE: String(FAILURES),
      TRUSTED_PROXIES: "127.0.0.0/8, ::1",
    });
    const many = await statuses(FAILURES + 2, (index) => `198.51.100.${index}`);
    expect(many).toEqual(Array(FAILURES + 2).fill(401));
    const network = await statuses(FAILURES + 1, (index) => `2001:db8:1:2::${index}`);
    expect(network.at(-1)).toBe(429);
    expect((await guess("2001:db8:1:3::1")).status).toBe(401);
  });
});
