import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { callerOf, startTestApp } from "../../support/service.ts";
import { testStores } from "../../support/stores/stores.ts";
import { temporaryFolder } from "../../support/temporaryFolder.ts";
import { message, newKey, startService, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const MORE_THAN_ANY_DISK = String(2 ** 50);

describe.each(await testStores())("health on $name", (store) => {
  let service: TestService;
  beforeAll(async () => {
    service = await startService(store);
  });
  afterAll(() => service.remove());

  test("live says ok, and nothing else", async () => {
    const answer = await callerOf(service.url, "").call("GET", "/health/live");
    expect(answer).toMatchObject({ status: 200, json: { status: "ok" } });
  });

  test("ready says what it looked at", async () => {
    const answer = await callerOf(service.url, "").call("GET", "/health/ready");
    expect(answer.status).toBe(200);
    expect(answer.json.status).toBe("ok");
    expect(Object.keys(answer.json.checks).sort()).toEqual([
      "content",
      "disk",
      "read_models",
      "relay",
      "store",
    ]);
    expect(answer.json.checks.relay.detail).toBe("Mail is written to files and goes nowhere else.");
    for (const check of Object.values(answer.json.checks)) expect(check).toMatchObject({ ok: true });
  });

  test("ready is level with the log a moment after a message was accepted", async () => {
    const tenant = await service.tenant();
    expect((await tenant.send(newKey(), message())).status).toBe(202);
    await until(async () => (await tenant.call("GET", "/health/ready")).json.status === "ok", "readiness");
  });
});

describe("health", () => {
  test("is unready while the disk is nearly full: new mail waits outside, what was accepted stays so", async () => {
    const dataDir = temporaryFolder();
    const content = message({ from: "hello@example.com" });
    const key = newKey();
    const restarted = await startTestApp({ dataDir, env: { DELIVERY: "off" } });
    const first = await restarted.send(key, content);
    await restarted.remove();
    const full = await startTestApp({
      dataDir,
      env: { DELIVERY: "off", DISK_FREE_BYTES_MIN: MORE_THAN_ANY_DISK },
    });
    try {
      const ready = await full.call("GET", "/health/ready");
      expect(ready).toMatchObject({ status: 503, json: { status: "unavailable" } });
      expect(ready.json.checks.disk).toEqual({
        ok: false,
        required: true,
        detail: expect.stringMatching(/^\d.* free, DISK_FREE_BYTES_MIN is \d.*: sends get 503$/),
      });
      expect(Number(ready.headers.get("retry-after"))).toBeGreaterThan(0);
      expect((await full.call("GET", "/health/live")).status).toBe(200);

      const refused = await full.send(newKey(), content);
      expect(refused.json.detail).toBe("the service is short of disk space; try again later");
      expect(refused).toMatchObject({ status: 503, json: { code: "INTERNAL_ERROR", retryable: true } });
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);

      expect((await full.send(key, content)).text).toBe(first.text);
      expect((await full.send(key, { ...content, text: "Other" })).status).toBe(409);
      expect((await full.call("GET", `/api/v1/emails/${first.json.id}`)).json.status).toBe("queued");
    } finally {
      await full.remove();
    }
  });

  test("is degraded and still ready while the relay takes no mail", async () => {
    // Nobody listens on port 1 of this machine.
    const app = await startTestApp({ env: { SMTP_URL: "smtp://127.0.0.1:1" } });
    try {
      const accepted = await app.send(newKey(), message({ from: "hello@example.com" }));
      expect(accepted.status).toBe(202);
      const ready = () => app.call("GET", "/health/ready");
      await until(
        async () => (await ready()).json.status === "degraded",
        "the relay's failure to be reported",
      );
      const { status, json } = await ready();
      expect(status).toBe(200);
      expect(json.checks.relay).toEqual({
        ok: false,
        required: false,
        detail: "The relay cannot be reached.",
      });
      expect((await app.send(newKey(), message({ from: "hello@example.com" }))).status).toBe(202);
    } finally {
      await app.remove();
    }
  });
});
