import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { Webhook } from "standardwebhooks";
import { WEBHOOK_EVENT_TYPES } from "../../../src/domain/webhookEventTypes.ts";
import { rawCall } from "../../support/servers/rawRequest.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, type Tenant } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";
import type { ReceivedCall } from "../../support/webhook/webhookReceiver.ts";
import { startWebhookWorld, type WebhookWorld } from "../../support/webhook/webhookWorld.ts";

const NAMES = ["missing", "shop", "books", "audit", "gone", "busy", "shy", "moved", "away"];
const NOBODY = "11111111-1111-4111-8111-111111111111";

describe.each(await testStores())("webhook endpoints on $name", (store) => {
  let world: WebhookWorld;
  let tenant: Tenant;
  /** What the endpoints answer, by name; 200 unless it says otherwise. */
  const statuses = new Map<string, number>();

  beforeAll(async () => {
    world = await startWebhookWorld(store, NAMES, {
      env: { WEBHOOK_SCHEDULE_MS: "0,1000,60000" },
      answer: ({ path }, response) =>
        response.writeHead(statuses.get(path.slice(1)) ?? 200).end("ok ana@example.com"),
    });
    tenant = await world.service.tenant();
  });
  afterAll(() => world.remove());

  const register = async (caller: Tenant, name: string, parts: Record<string, unknown> = {}) => {
    const { status, json } = await caller.call("POST", "/webhooks", {
      body: { url: world.urlOf(name), ...parts },
    });
    expect(status).toBe(201);
    return json as { id: string; secret: string; url: string };
  };
  const callsTo = (name: string): readonly ReceivedCall[] =>
    world.receiver.calls.filter(({ path }) => path === `/${name}`);
  const typesTo = (name: string) => callsTo(name).map(({ body }) => JSON.parse(body).type as string);

  test("get each event that they asked for, signed, with what it is about", async () => {
    const { id, secret } = await register(tenant, "shop");
    const sent = await tenant.send(newKey(), message({ metadata: { order: "A-7" } }));
    await until(() => callsTo("shop").length >= 2, "both events");
    expect(typesTo("shop").sort()).toEqual(["email.queued", "email.sent"]);
    for (const { headers, body } of callsTo("shop")) {
      const payload = new Webhook(secret).verify(body, headers) as { data: Record<string, unknown> };
      expect(payload.data).toMatchObject({ id: sent.json.id, object: "email", metadata: { order: "A-7" } });
      expect(body).not.toContain("@");
    }
    const sequences = callsTo("shop").map(({ body }) => JSON.parse(body).data.sequence);
    expect(new Set(sequences).size).toBe(2);
    const { json } = await tenant.call("GET", `/webhooks/${id}/deliveries`);
    expect(json.data.map((one: { event_type: string }) => one.event_type).sort()).toEqual(
      typesTo("shop").sort(),
    );
  });

  test("get what they asked for and nothing else, and go by a change from then on", async () => {
    const other = await world.service.tenant();
    const { id } = await register(other, "books", { event_types: ["email.canceled"] });
    const changed = await other.call("PATCH", `/webhooks/${id}`, {
      body: { event_types: ["email.sent"], description: "books" },
    });
    expect(changed.json).toMatchObject({ event_types: ["email.sent"], description: "books" });
    await other.send(newKey(), message());
    await until(() => callsTo("books").length > 0, "the event");
    expect(typesTo("books")).toEqual(["email.sent"]);
    const moved = await other.call("PATCH", `/webhooks/${id}`, { body: { url: world.urlOf("moved") } });
    expect(moved.json.url).toBe(world.urlOf("moved"));
    await other.send(newKey(), message());
    await until(() => callsTo("moved").length > 0, "the event at the new URL");
  });

  test("lose their description by a null, and keep it through other changes, in the list too", async () => {
    const owner = await world.service.tenant({ sender: null });
    const { id } = await register(owner, "shop", { description: "Orders" });
    for (const [body, description] of [
      [{ event_types: null }, "Orders"],
      [{ description: null }, null],
    ] as const) {
      expect((await owner.call("PATCH", `/webhooks/${id}`, { body })).json.description).toBe(description);
      expect((await owner.call("GET", "/webhooks")).json.data).toMatchObject([{ id, description }]);
    }
  });

  test("sign with the new secret alone when a rotation says so in its body", async () => {
    const owner = await world.service.tenant();
    const { id } = await register(owner, "shop");
    const { log } = world.service;
    const rotate = (body: unknown, query = "") =>
      owner.call("POST", `/webhooks/${id}/rotate-secret${query}`, { body });
    const overlapMs = async () => {
      log.webhooks.forget(owner.workspaceId);
      const { endpoints } = await log.webhooks.get(owner.workspaceId);
      return (endpoints.get(id)?.previous[0]?.until ?? 0) - Date.now();
    };
    expect((await rotate({ overlap_seconds: 0 })).status).toBe(200);
    expect(await overlapMs()).toBeLessThanOrEqual(0);
    expect((await rotate({ overlap_seconds: 604_800 })).status).toBe(200);
    expect(await overlapMs()).toBeGreaterThan(604_700_000);
    expect((await rotate({})).status).toBe(200);
    expect(await overlapMs()).toBeGreaterThan(86_000_000);
    for (const overlap of [-1, 604_801, 0.5, "0", null]) {
      const answer = await rotate({ overlap_seconds: overlap });
      expect(answer.json).toMatchObject({ status: 400, errors: [{ pointer: "/overlap_seconds" }] });
    }
    const conflicting = await rotate({ overlap_seconds: 0 }, "?overlap_seconds=0");
    expect(conflicting.json).toMatchObject({ status: 400, errors: [{ pointer: "/overlap_seconds" }] });
  });

  test("sign with both secrets while a rotation overlaps, and with the new one alone after it", async () => {
    const { id, secret } = await register(tenant, "audit", { event_types: ["email.failed"] });
    const rotated = await tenant.call("POST", `/webhooks/${id}/rotate-secret?overlap_seconds=600`);
    expect(rotated.status).toBe(200);
    await tenant.call("POST", `/webhooks/${id}/test`);
    await until(() => callsTo("audit").length === 1, "the first test");
    const first = callsTo("audit")[0] as ReceivedCall;
    for (const key of [secret, rotated.json.secret as string])
      new Webhook(key).verify(first.body, first.headers);
    const rotatedAgain = await tenant.call("POST", `/webhooks/${id}/rotate-secret?overlap_seconds=0`);
    await tenant.call("POST", `/webhooks/${id}/test`);
    await until(() => callsTo("audit").length === 2, "the second test");
    const second = callsTo("audit")[1] as ReceivedCall;
    new Webhook(rotatedAgain.json.secret as string).verify(second.body, second.headers);
    for (const key of [secret, rotated.json.secret as string]) {
      expect(() => new Webhook(key).verify(second.body, second.headers)).toThrow();
    }
  });

  test("are disabled by 410, and the other endpoints are notified", async () => {
    const other = await world.service.tenant();
    statuses.set("gone", 410);
    const { id } = await register(other, "gone");
    await register(other, "shy", { event_types: ["webhook.disabled"] });
    await other.call("POST", `/webhooks/${id}/test`);
    await until(
      async () => (await other.call("GET", `/webhooks/${id}`)).json.status === "disabled",
      "the end of the delivery",
    );
    const { json } = await other.call("GET", `/webhooks/${id}`);
    expect(json).toMatchObject({ status: "disabled", disabled_reason: "gone" });
    await until(() => callsTo("shy").length > 0, "the new events");
    expect(JSON.parse(callsTo("shy")[0]?.body ?? "")).toMatchObject({
      type: "webhook.disabled",
      data: { id, reason: "gone", object: "webhook_endpoint" },
    });
    const refused = await other.call("POST", `/webhooks/${id}/test`);
    expect({ status: refused.status, code: refused.json.code }).toEqual({
      status: 409,
      code: "WEBHOOK_DISABLED",
    });
  });

  test("that were disabled get nothing, and can recover what they missed", async () => {
    const other = await world.service.tenant();
    const since = new Date(Date.now() - 60_000).toISOString();
    statuses.set("busy", 500);
    const { id } = await register(other, "busy", { event_types: ["email.queued"] });
    await other.send(newKey(), message());
    await until(() => callsTo("busy").length === 1, "the first attempt");
    for (const verb of ["disable", "disable"]) {
      const { json } = await other.call("POST", `/webhooks/${id}/${verb}`);
      expect(json).toMatchObject({ status: "disabled", disabled_reason: "manual" });
    }
    const skipped = async () =>
      (await other.call("GET", `/webhooks/${id}/deliveries?status=skipped`)).json.data as { id: string }[];
    await until(async () => (await skipped()).length === 1, "the delivery to be skipped");
    statuses.set("busy", 200);
    expect((await other.call("POST", `/webhooks/${id}/enable`)).json).toMatchObject({
      status: "active",
      disabled_reason: null,
    });
    const recover = () => other.call("POST", `/webhooks/${id}/recover`, { body: { since } });
    expect((await recover()).json).toEqual({ object: "webhook_recovery", requested: 1, has_more: false });
    await until(() => callsTo("busy").length === 2, "the recovered delivery");
    const [first, second] = callsTo("busy");
    expect(second?.headers["webhook-id"]).toBe(first?.headers["webhook-id"] as string);
    expect((await recover()).json.requested).toBe(0);
    const old = new Date(Date.now() - 15 * 86_400_000).toISOString();
    const refused = await other.call("POST", `/webhooks/${id}/recover`, { body: { since: old } });
    expect(refused.json).toMatchObject({ status: 400, errors: [{ pointer: "/since" }] });
    await other.call("POST", `/webhooks/${id}/disable`);
    const retry = `deliveries/${first?.headers["webhook-id"]}/retry`;
    for (const [path, body] of [
      ["recover", { since }],
      [retry, undefined],
    ]) {
      const refusal = await other.call("POST", `/webhooks/${id}/${path}`, body === undefined ? {} : { body });
      expect({ path, status: refusal.status, code: refusal.json.code }).toEqual({
        path,
        status: 409,
        code: "WEBHOOK_DISABLED",
      });
    }
  });

  test("that failed for a while recover what waits for its next attempt", async () => {
    const other = await world.service.tenant();
    statuses.set("away", 500);
    const { id } = await register(other, "away", { event_types: ["email.queued"] });
    await other.send(newKey(), message());
    await other.send(newKey(), message());
    const waiting = async () =>
      (await other.call("GET", `/webhooks/${id}/deliveries?status=pending`)).json.data as {
        attempts: number;
      }[];
    // The third attempt is a minute away.
    await until(
      async () => (await waiting()).filter(({ attempts }) => attempts === 2).length === 2,
      "two attempts",
    );
    statuses.set("away", 200);
    const recover = () => other.call("POST", `/webhooks/${id}/recover`);
    expect((await recover()).json).toEqual({ object: "webhook_recovery", requested: 2, has_more: false });
    await until(() => callsTo("away").length === 6, "the recovered deliveries");
    await until(async () => (await waiting()).length === 0, "their outcomes");
    const headers = {
      Authorization: `Bearer ${other.apiKey}`,
      "Content-Type": "application/json",
      "Transfer-Encoding": "chunked",
    };
    const empty = await rawCall(world.service.url, ["POST", `/webhooks/${id}/recover`], headers, "0\r\n\r\n");
    expect(JSON.parse(empty.text)).toEqual({ object: "webhook_recovery", requested: 0, has_more: false });
  });

  test("that were disabled recover what happened meanwhile, each event once", async () => {
    const other = await world.service.tenant();
    const since = new Date(Date.now() - 60_000).toISOString();
    const { id } = await register(other, "missing", { event_types: ["email.queued"] });
    await other.call("POST", `/webhooks/${id}/disable`);
    const sent: string[] = [];
    for (let count = 0; count < 5; count += 1) {
      sent.push((await other.send(newKey(), message())).json.id);
    }
    const missed = async () =>
      (await other.call("GET", `/webhooks/${id}/deliveries?status=skipped`)).json.data as { id: string }[];
    await until(async () => (await missed()).length === sent.length, "the missed deliveries");
    const [one] = await missed();
    expect((await other.call("GET", `/webhooks/${id}/deliveries/${one?.id}`)).json).toMatchObject({
      status: "skipped",
      skipped_reason: "endpoint_disabled",
      attempts: 0,
      next_attempt_at: null,
      attempt_log: [],
    });
    await other.call("POST", `/webhooks/${id}/enable`);
    expect(callsTo("missing")).toEqual([]);
    const recover = async () =>
      (await other.call("POST", `/webhooks/${id}/recover`, { body: { since } })).json.requested as number;
    // Also when two ask at once.
    const requested = await Promise.all([recover(), recover()]);
    expect(requested.reduce((sum, count) => sum + count)).toBe(sent.length);
    await until(() => callsTo("missing").length >= sent.length, "all missed deliveries");
    const deliveredIds = () => callsTo("missing").map(({ body }) => JSON.parse(body).data.id as string);
    expect(deliveredIds().sort()).toEqual(sent.toSorted());
    await until(async () => (await missed()).length === 0, "their outcomes");
    expect(await recover()).toBe(0);
    sent.push((await other.send(newKey(), message())).json.id);
    await until(() => callsTo("missing").length > sent.length - 1, "the later events");
    expect(deliveredIds().sort()).toEqual(sent.toSorted());
  });

  test("show each delivery with its attempts, and repeat one on request", async () => {
    const [endpoint] = (await tenant.call("GET", "/webhooks")).json.data.filter(
      ({ url }: { url: string }) => url === world.urlOf("shop"),
    );
    const list = await tenant.call(
      "GET",
      `/webhooks/${endpoint.id}/deliveries?event_type=email.sent&limit=1`,
    );
    const [delivery] = list.json.data;
    const path = `/webhooks/${endpoint.id}/deliveries/${delivery.id}`;
    const { json } = await tenant.call("GET", path);
    expect(json).toMatchObject({
      status: "delivered",
      attempts: 1,
      skipped_reason: null,
      attempt_log: [{ attempt: 1, outcome: "delivered", status_code: 200, excerpt: "ok <address>" }],
      payload: { type: "email.sent" },
    });
    const before = callsTo("shop").length;
    const retried = await tenant.call("POST", `${path}/retry`);
    expect(retried.status).toBe(202);
    await until(() => callsTo("shop").length === before + 1, "the repeat");
    expect(callsTo("shop").at(-1)?.headers["webhook-id"]).toBe(delivery.id);
    await until(
      async () => (await tenant.call("GET", path)).json.attempt_log.length === 2,
      "the record of the call",
    );
  });

  test("are nobody else's, and an id that is none is refused as such", async () => {
    const other = await world.service.tenant();
    const { json: endpoints } = await tenant.call("GET", "/webhooks");
    const { id } = endpoints.data[0];
    const since = new Date().toISOString();
    const requests: readonly (readonly [string, string, object?])[] = [
      ["GET", ""],
      ["PATCH", "", { description: "mine" }],
      ["DELETE", ""],
      ["POST", "/disable"],
      ["POST", "/enable"],
      ["POST", "/rotate-secret"],
      ["POST", "/test"],
      ["GET", "/deliveries"],
      ["GET", `/deliveries/${NOBODY}`],
      ["POST", `/deliveries/${NOBODY}/retry`],
      ["POST", "/recover", { since }],
    ];
    for (const [method, rest, body] of requests) {
      const options = body === undefined ? {} : { body };
      for (const otherId of [id, NOBODY]) {
        const { status, json } = await other.call(method, `/webhooks/${otherId}${rest}`, options);
        expect({ method, rest, status, code: json?.code }).toEqual({
          method,
          rest,
          status: 404,
          code: "WEBHOOK_NOT_FOUND",
        });
      }
      const { status, json } = await other.call(method, `/webhooks/none${rest}`, options);
      expect({ method, rest, status, code: json?.code }).toEqual({
        method,
        rest,
        status: 400,
        code: "INVALID_REQUEST",
      });
    }
    for (const method of ["GET", "POST"]) {
      const path = `/webhooks/${id}/deliveries/${NOBODY}${method === "POST" ? "/retry" : ""}`;
      expect((await tenant.call(method, path)).json.code).toBe("NOT_FOUND");
    }
    const { json: untouched } = await tenant.call("GET", `/webhooks/${id}`);
    expect(untouched).toEqual(endpoints.data[0]);
  });

  test("have their destinations for themselves, and those are public", async () => {
    const { json } = await tenant.call("GET", "/webhooks");
    const [first, second] = json.data;
    const duplicate = await tenant.call("PATCH", `/webhooks/${first.id}`, { body: { url: second.url } });
    expect({ status: duplicate.status, code: duplicate.json.code }).toEqual({
      status: 409,
      code: "WEBHOOK_ALREADY_EXISTS",
    });
    const privateHost = await tenant.call("PATCH", `/webhooks/${first.id}`, {
      body: { url: "https://127.0.0.1/" },
    });
    expect({ status: privateHost.status, code: privateHost.json.code }).toEqual({
      status: 422,
      code: "INVALID_WEBHOOK_URL",
    });
    const emptyChange = await tenant.call("PATCH", `/webhooks/${first.id}`, { body: {} });
    expect(emptyChange.status).toBe(400);
    const unknown = await tenant.call("PATCH", `/webhooks/${first.id}`, {
      body: { event_types: ["email.read"] },
    });
    expect(unknown.json).toMatchObject({ status: 400, errors: [{ pointer: "/event_types/0" }] });
  });

  test("that were deleted are gone, and free their destinations", async () => {
    const other = await world.service.tenant();
    const { id } = await register(other, "shop");
    expect((await other.call("DELETE", `/webhooks/${id}`)).status).toBe(204);
    expect((await other.call("DELETE", `/webhooks/${id}`)).status).toBe(404);
    expect((await other.call("GET", "/webhooks")).json).toEqual({ data: [] });
    await register(other, "shop");
  });

  test("also receive suppressions", async () => {
    const other = await world.service.tenant();
    await register(other, "busy", { event_types: ["suppression.created"] });
    const before = callsTo("busy").length;
    await world.service.suppress(other.workspaceId, "nobody@example.net");
    await until(() => callsTo("busy").length > before, "the new events");
    expect(JSON.parse(callsTo("busy").at(-1)?.body ?? "")).toMatchObject({
      type: "suppression.created",
      data: { object: "suppression", address: "nobody@example.net", reason: "bounce" },
    });
  });

  test("can ask for every type that there is", async () => {
    const other = await world.service.tenant();
    const { id } = await register(other, "shop", { event_types: [...WEBHOOK_EVENT_TYPES] });
    expect((await other.call("GET", `/webhooks/${id}`)).json.event_types).toEqual([...WEBHOOK_EVENT_TYPES]);
  });
});
