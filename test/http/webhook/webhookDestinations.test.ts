import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type NameServer, startNameServer } from "../../support/servers/nameServer.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

/** For what the store has no part in. */
const sqlite = [sqliteStore];

const ADDRESSES: Readonly<Record<string, readonly string[]>> = {
  "private.example.org": ["10.0.0.7"],
  "mixed.example.org": ["8.8.8.8", "192.168.0.1"],
  "azure.example.org": ["168.63.129.16"],
  "public.example.org": ["8.8.8.8"],
};

describe.each(sqlite)("webhook destinations on $name", (store) => {
  let service: TestService;
  let tenant: Tenant;
  let dns: NameServer;
  const calls: string[] = [];
  const receiver = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(call) {
      calls.push(JSON.parse(await call.text()).type);
      return new Response("thank you");
    },
  });
  const privateHost = `localhost:${receiver.port}`;

  beforeAll(async () => {
    dns = await startNameServer((name, type) => {
      const known = ADDRESSES[name];
      return known === undefined ? "nxdomain" : type === "A" ? known : [];
    });
    service = await startService(store, {
      DNS_SERVERS: dns.address,
      DELIVERY: "on",
      SMTP_URL: "outbox:",
      WEBHOOK_ALLOW_PRIVATE_HOSTS: `${privateHost},unknown.example.org:4443`,
    });
    tenant = await service.tenant();
  });
  afterAll(async () => {
    await service.remove();
    await receiver.stop(true);
    dns.stop();
  });

  const register = (url: string) => tenant.call("POST", "/webhooks", { body: { url } });

  test("whose names resolve to private addresses are refused at once, without details", async () => {
    const { json: registered } = await register("https://public.example.org/");
    for (const name of ["private", "mixed", "azure"]) {
      const body = { url: `https://${name}.example.org/hook` };
      for (const answer of [
        await tenant.call("POST", "/webhooks", { body }),
        await tenant.call("PATCH", `/webhooks/${registered.id}`, { body }),
      ]) {
        expect(answer.json).toMatchObject({
          status: 422,
          code: "INVALID_WEBHOOK_URL",
          errors: [{ pointer: "/url" }],
        });
        expect(answer.text).not.toMatch(/10\.0\.0\.7|192\.168|168\.63/);
      }
    }
  });

  test("whose names nobody knows yet are taken", async () => {
    expect((await register("https://later.example.org/")).status).toBe(201);
  });

  test("on this machine are taken over HTTP where they are listed, and called", async () => {
    expect((await register(`http://${privateHost}/hook`)).json).toMatchObject({
      url: `http://${privateHost}/hook`,
    });
    await tenant.send(newKey(), message());
    await until(() => calls.includes("email.queued"), "the call");
  });

  test("on this machine that are not listed are refused by the name of the setting", async () => {
    for (const [url, pair] of [
      ["http://localhost:5999/", "localhost:5999"],
      ["http://127.0.0.1/hook", "127.0.0.1:80"],
      ["https://localhost:8443/", "localhost:8443"],
    ] as const) {
      const { json } = await register(url);
      expect(json).toMatchObject({ status: 422, code: "INVALID_WEBHOOK_URL" });
      expect(json.detail).toContain(`WEBHOOK_ALLOW_PRIVATE_HOSTS can list ${pair}`);
    }
  });

  test("that no setting would make good are refused with what is wrong, and no advice", async () => {
    for (const [url, fault] of [
      [
        "http://app:4000/hook",
        "it does not begin with https://; even in development, only localhost and 127.0.0.1 can be called without TLS",
      ],
      ["https://192.0.2.1/hook", "it has an address in place of a name"],
      ["https://user:secret@example.com/hook", "it holds a user or a password"],
      [`https://example.com/${"a".repeat(2_000)}`, "it has more than 2000 characters"],
    ] as const) {
      const { json } = await register(url);
      const message = `is not a public HTTPS URL on port 443: ${fault}`;
      expect(json.errors).toEqual([{ pointer: "/url", message }]);
    }
  });

  test("that cannot be reached are all unreachable, whatever the reason", async () => {
    const other = await service.tenant();
    const { json: endpoint } = await other.call("POST", "/webhooks", {
      body: { url: "https://unknown.example.org:4443/" },
    });
    await other.call("POST", `/webhooks/${endpoint.id}/test`);
    const path = `/webhooks/${endpoint.id}/deliveries`;
    const attempts = async () => {
      const [delivery] = (await other.call("GET", path)).json.data;
      if (delivery === undefined) return [];
      return (await other.call("GET", `${path}/${delivery.id}`)).json.attempt_log;
    };
    await until(async () => (await attempts())[0]?.outcome === "failed", "the first attempt");
    expect((await attempts())[0]).toMatchObject({ reason: "unreachable", status_code: null, excerpt: null });
  });
});

describe.each(sqlite)("webhook destinations of a public service on $name", (store) => {
  test("are refused without a word of settings", async () => {
    const service = await startService(store, { BASE_URL: "https://mail.example.com", SMTP_URL: "outbox:" });
    const tenant = await service.tenant();
    const { json } = await tenant.call("POST", "/webhooks", { body: { url: "http://localhost:5999/" } });
    expect(json).toMatchObject({ status: 422, code: "INVALID_WEBHOOK_URL" });
    expect(json.detail).not.toContain("WEBHOOK_ALLOW");
    await service.remove();
  });
});
