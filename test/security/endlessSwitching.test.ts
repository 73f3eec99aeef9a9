import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { senderIdOf, setSender } from "../../src/commands/sender/manageSender.ts";
import { resumeWorkspace } from "../../src/commands/workspace/manageWorkspace.ts";
import { parseAddress } from "../../src/kernel/text/emailAddress.ts";
import { systemCommandContext } from "../../src/service/systemCommandContext.ts";
import { sqliteStore, testStores } from "../support/stores/stores.ts";
import { SENDER, startService, type Tenant, type TestService } from "../support/tenants.ts";
import { until } from "../support/until.ts";
import { startWebhookWorld, type WebhookWorld } from "../support/webhook/webhookWorld.ts";

const RECIPIENT = "ana@example.com";
const DAY_SECONDS = 86_400;

describe.each(await testStores())("what is switched on and off without end, on $name", (store) => {
  let service: TestService;
  let tenant: Tenant;
  beforeAll(async () => {
    service = await startService(store);
    tenant = await service.tenant();
  });
  afterAll(() => service.remove());

  const senderId = (of: Tenant) => {
    const address = parseAddress(SENDER);
    if ("invalid" in address) throw new Error(address.invalid);
    return senderIdOf(service.log.keys, of.workspaceId, { kind: "address", address });
  };
  type Switch = (of: Tenant) => ReturnType<Tenant["call"]>;
  const switches: readonly (readonly [name: string, most: number, off: Switch, on: Switch])[] = [
    [
      "a suppression",
      100,
      (of) => of.call("POST", "/api/v1/suppressions", { body: { address: RECIPIENT } }),
      (of) => of.call("DELETE", `/api/v1/suppressions/${RECIPIENT}`),
    ],
    [
      "a workspace",
      200,
      (of) => of.call("POST", "/api/v1/workspace/pause"),
      (of) => of.call("POST", "/api/v1/workspace/resume"),
    ],
    [
      "a sender",
      200,
      (of) => of.call("POST", `/api/v1/senders/${senderId(of)}/disable`),
      (of) => of.call("POST", `/api/v1/senders/${senderId(of)}/enable`),
    ],
  ];

  test.each(switches)("%s is refused in time, and others are not", async (_, most, off, on) => {
    let changes = 0;
    let last = await off(tenant);
    for (; changes <= most && last.status < 400; changes += 1) {
      last = await (changes % 2 === 0 ? on(tenant) : off(tenant));
    }
    expect(last.json).toMatchObject({ status: 429, code: "RATE_LIMITED", retryable: true });
    const retryAfterSeconds = Number(last.headers.get("retry-after"));
    expect(retryAfterSeconds).toBeGreaterThan(DAY_SECONDS - 600);
    expect(retryAfterSeconds).toBeLessThanOrEqual(DAY_SECONDS);
    expect(changes).toBeGreaterThanOrEqual(most - 2);
    // What stops mail is still done, and its repeat changes nothing.
    expect((await off(tenant)).status).toBeLessThan(300);
    expect((await on(tenant)).status).toBe(429);
    expect((await off(tenant)).status).toBeLessThan(300);
    const other = await service.tenant();
    expect((await off(other)).status).toBeLessThan(300);
    expect((await on(other)).status).toBeLessThan(300);
  });

  test("people are erased so many a day, and other workspaces' as before", async () => {
    const erase = (of: Tenant, nth: number) =>
      of.call("POST", "/api/v1/erasures", { body: { address: `p${nth}@example.com` } });
    for (let first = 0; first < 1_000; first += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, nth) => erase(tenant, first + nth)));
    }
    expect((await erase(tenant, 1_000)).json).toMatchObject({ status: 429, code: "RATE_LIMITED" });
    expect((await erase(await service.tenant(), 1)).status).toBe(202);
  });

  test("leaves a recipient suppressed, and can be ended by the operator", async () => {
    expect((await tenant.call("GET", `/api/v1/suppressions/${RECIPIENT}`)).status).toBe(200);
    const context = { ...systemCommandContext("cli"), workspaceId: tenant.workspaceId };
    await resumeWorkspace(service.log, tenant.workspaceId, context);
    expect((await tenant.call("GET", "/api/v1/workspace")).json.sending).toBe("active");
    expect(await setSender(service.log, senderId(tenant), "enabled", context)).toBe("switched");
  });
});

describe.each([sqliteStore])("a delivery that is asked for without end, on $name", (store) => {
  let world: WebhookWorld;
  beforeAll(async () => {
    world = await startWebhookWorld(store, ["shop"]);
  });
  afterAll(() => world.remove());

  test("is refused in time", async () => {
    const tenant = await world.service.tenant();
    const body = { url: world.urlOf("shop"), description: null };
    const { json: endpoint } = await tenant.call("POST", "/webhooks", { body });
    const { json: asked } = await tenant.call("POST", `/webhooks/${endpoint.id}/test`);
    const path = `/webhooks/${endpoint.id}/deliveries/${asked.delivery_id}`;
    const isDelivered = async () => (await tenant.call("GET", path)).json.status === "delivered";
    let last = 0;
    let retries = 0;
    for (; retries < 30 && last !== 429; retries += 1) {
      await until(isDelivered, "the delivery");
      last = (await tenant.call("POST", `${path}/retry`)).status;
    }
    expect({ last, retries }).toEqual({ last: 429, retries: 21 });
  });
});
