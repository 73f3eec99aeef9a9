import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { resumeEmail } from "../../src/commands/email/resumeEmail.ts";
import { switchExistingSender } from "../../src/commands/sender/manageSender.ts";
import { senderIdOf } from "../../src/commands/sender/senderId.ts";
import { resumeWorkspace } from "../../src/commands/workspace/manageWorkspace.ts";
import { newId } from "../../src/kernel/ids.ts";
import { parseAddress } from "../../src/kernel/text/emailAddress.ts";
import { DAY_MS, MINUTE_MS, rfc3339 } from "../../src/kernel/time.ts";
import { systemCommandContext } from "../../src/service/systemCommandContext.ts";
import { serviceFixture } from "../support/serviceFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { message, newKey, SENDER, type Tenant } from "../support/tenants.ts";
import { until } from "../support/until.ts";
import { startWebhookWorld, type WebhookWorld } from "../support/webhook/webhookWorld.ts";

const RECIPIENT = "ana@example.com";
const DAY_SECONDS = 86_400;

/** Each instance counts these changes in its own memory, so it is the same on every store. */
describe("what is switched on and off without end", () => {
  const { service, tenant } = serviceFixture(sqliteStore, {});

  const senderId = (caller: Tenant) => {
    const address = parseAddress(SENDER);
    if ("invalid" in address) throw new Error(address.invalid);
    return senderIdOf(service.log.keys, caller.workspaceId, { kind: "address", address });
  };
  type Switch = (caller: Tenant) => ReturnType<Tenant["call"]>;
  const switches: readonly (readonly [name: string, most: number, off: Switch, on: Switch])[] = [
    [
      "a suppression",
      100,
      (caller) => caller.call("POST", "/api/v1/suppressions", { body: { address: RECIPIENT } }),
      (caller) => caller.call("DELETE", `/api/v1/suppressions/${RECIPIENT}`),
    ],
    [
      "a workspace",
      200,
      (caller) => caller.call("POST", "/api/v1/workspace/pause"),
      (caller) => caller.call("POST", "/api/v1/workspace/resume"),
    ],
    [
      "a sender",
      200,
      (caller) => caller.call("POST", `/api/v1/senders/${senderId(caller)}/disable`),
      (caller) => caller.call("POST", `/api/v1/senders/${senderId(caller)}/enable`),
    ],
  ];

  test.each(switches)("%s is refused eventually, and others are not", async (_, limit, turnOff, turnOn) => {
    let changes = 0;
    let last = await turnOff(tenant);
    for (; changes <= limit && last.status < 400; changes += 1) {
      last = await (changes % 2 === 0 ? turnOn(tenant) : turnOff(tenant));
    }
    expect(last.json).toMatchObject({ status: 429, code: "RATE_LIMITED", retryable: true });
    const retryAfterSeconds = Number(last.headers.get("retry-after"));
    expect(retryAfterSeconds).toBeGreaterThan(DAY_SECONDS - 600);
    expect(retryAfterSeconds).toBeLessThanOrEqual(DAY_SECONDS);
    expect(changes).toBeGreaterThanOrEqual(limit - 2);
    // What stops mail is still done, and its repeat changes nothing.
    expect((await turnOff(tenant)).status).toBeLessThan(300);
    expect((await turnOn(tenant)).status).toBe(429);
    expect((await turnOff(tenant)).status).toBeLessThan(300);
    const other = await service.tenant();
    expect((await turnOff(other)).status).toBeLessThan(300);
    expect((await turnOn(other)).status).toBeLessThan(300);
  });

  test("erasures of people are limited per day, and other workspaces are unaffected", async () => {
    const erase = (caller: Tenant, nth: number) =>
      caller.call("POST", "/api/v1/erasures", { body: { address: `p${nth}@example.com` } });
    for (let first = 0; first < 1_000; first += 50) {
      await Promise.all(Array.from({ length: 50 }, (_, nth) => erase(tenant, first + nth)));
    }
    expect((await erase(tenant, 1_000)).json).toMatchObject({ status: 429, code: "RATE_LIMITED" });
    expect((await erase(await service.tenant(), 1)).status).toBe(202);
  });

  test("leaves a recipient suppressed, and the operator can end it", async () => {
    expect((await tenant.call("GET", `/api/v1/suppressions/${RECIPIENT}`)).status).toBe(200);
    const context = { ...systemCommandContext("cli"), workspaceId: tenant.workspaceId };
    await resumeWorkspace(service.log, tenant.workspaceId, context);
    expect((await tenant.call("GET", "/api/v1/workspace")).json.sending).toBe("active");
    expect(await switchExistingSender(service.log, senderId(tenant), "enabled", context)).toBe("switched");
  });
});

describe("what is done again and again", () => {
  const { service, tenant } = serviceFixture(sqliteStore, {});

  test("rescheduling a message is limited per day, and it can still be canceled", async () => {
    const sent = await tenant.send(newKey(), message({ scheduled_at: rfc3339(Date.now() + DAY_MS) }));
    const path = `/api/v1/emails/${sent.json.id}`;
    let last = 200;
    let moves = 0;
    for (; moves < 110 && last === 200; moves += 1) {
      const body = { scheduled_at: rfc3339(Date.now() + 2 * DAY_MS + moves * MINUTE_MS) };
      last = (await tenant.call("POST", `${path}/reschedule`, { body })).status;
    }
    expect({ last, moves }).toEqual({ last: 429, moves: 101 });
    expect((await tenant.call("POST", `${path}/cancel`)).json.status).toBe("canceled");
  });

  test("creating a template under one alias again is limited per day, and it can still be deleted", async () => {
    const create = (alias: string) =>
      tenant.call("POST", "/api/v1/templates", { body: { name: "Order", alias } });
    const { id } = (await create("order")).json;
    const path = `/api/v1/templates/${id}`;
    for (let creations = 1; creations < 50; creations += 1) {
      expect((await tenant.call("DELETE", path)).status).toBe(204);
      expect((await create("order")).status).toBe(201);
    }
    expect((await create("order")).status).toBe(200);
    expect((await tenant.call("DELETE", path)).status).toBe(204);
    expect((await create("order")).json).toMatchObject({ code: "RATE_LIMITED" });
    expect((await create("another")).status).toBe(201);
  });

  test("rotating a key is limited per day, and no key is created in vain", async () => {
    const { keyId } = await tenant.withKey({});
    const path = `/api/v1/api-keys/${keyId}/rotate`;
    let last = 201;
    let rotations = 0;
    let newest = "";
    for (; rotations < 110 && last === 201; rotations += 1) {
      const { status, json } = await tenant.call("POST", path);
      last = status;
      if (status === 201) newest = json.id;
    }
    expect({ last, rotations }).toEqual({ last: 429, rotations: 101 });
    expect((await tenant.call("GET", "/api/v1/api-keys?limit=1")).json.data[0].id).toBe(newest);
  });

  test("testing a webhook endpoint is limited per day, and it can still be disabled", async () => {
    const [owner, other] = [await service.tenant(), await service.tenant()];
    const endpointOf = async (caller: Tenant) => {
      await service.addEndpoints(caller.workspaceId, ["https://hooks.example.com/a"]);
      return (await caller.call("GET", "/webhooks")).json.data[0].id;
    };
    const path = `/webhooks/${await endpointOf(owner)}`;
    for (let first = 0; first < 1_000; first += 50)
      await Promise.all(Array.from({ length: 50 }, () => owner.call("POST", `${path}/test`)));
    expect((await owner.call("POST", `${path}/test`)).json).toMatchObject({ code: "RATE_LIMITED" });
    expect((await owner.call("POST", `${path}/disable`)).status).toBe(200);
    expect((await other.call("POST", `/webhooks/${await endpointOf(other)}/test`)).status).toBe(202);
  });

  test("resuming a message at once is limited per day", async () => {
    const { id } = (await tenant.send(newKey(), message())).json;
    const context = { ...systemCommandContext("test"), workspaceId: tenant.workspaceId };
    const byKey = { ...context, actor: `api-key:${tenant.keyId}` };
    const resumeAfterAttempt = async (attempt: number, commandContext: typeof context) => {
      const started = { attempt, worker: newId(), transport: "smtp", leaseMs: MINUTE_MS };
      const reply = { reason: "greylisted", attemptBurnt: true, ambiguous: false };
      await service.addEmailEvents(
        id,
        { type: "EmailDeliveryStarted", data: started },
        {
          type: "EmailDeferred",
          data: { attempt, ...reply, nextAttemptAt: rfc3339(Date.now() + MINUTE_MS) },
        },
      );
      return resumeEmail(service.log.store, id, commandContext);
    };
    for (let attempt = 1; attempt <= 100; attempt += 1) await resumeAfterAttempt(attempt, byKey);
    expect(resumeAfterAttempt(101, byKey)).rejects.toThrow("as often as it may be in a day");
    expect((await resumeAfterAttempt(102, context)).outcome).toBe("resumed");
  });
});

describe("a delivery that is asked for without end", () => {
  let world: WebhookWorld;
  beforeAll(async () => {
    world = await startWebhookWorld(sqliteStore, ["shop"]);
  });
  afterAll(() => world.remove());

  test("is refused eventually", async () => {
    const tenant = await world.service.tenant();
    const body = { url: world.urlOf("shop"), description: null };
    const { json: endpoint } = await tenant.call("POST", "/webhooks", { body });
    const { json: requested } = await tenant.call("POST", `/webhooks/${endpoint.id}/test`);
    const path = `/webhooks/${endpoint.id}/deliveries/${requested.delivery_id}`;
    const isDelivered = async () => (await tenant.call("GET", path)).json.status === "delivered";
    let last = 0;
    let retries = 0;
    for (; retries < 30 && last !== 429; retries += 1) {
      await until(isDelivered, "the delivery to be made");
      last = (await tenant.call("POST", `${path}/retry`)).status;
    }
    expect({ last, retries }).toEqual({ last: 429, retries: 21 });
  });
});
