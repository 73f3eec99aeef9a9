import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { webhooksStream } from "../../../src/domain/webhook/events.ts";
import { webhookDeliveryStream } from "../../../src/domain/webhookDelivery/events.ts";
import { webhookFault } from "../../gate/documentedAnswers.ts";
import { logIn } from "../../support/dashboard.ts";
import { expectProblem } from "../../support/expectProblem.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, SENDER, type Tenant } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";
import type { ReceivedCall } from "../../support/webhook/webhookReceiver.ts";
import { startWebhookWorld, type WebhookWorld } from "../../support/webhook/webhookWorld.ts";

const NAMES = ["all", "some", "none", "changed", "pending", "erased", "echo", "test", "others"];
const TO = "ana.o'brien+c@example.org";
const SUBJECT = 'Your "order" 4711 & more';
const CONTENT = { from: SENDER, to: TO, subject: SUBJECT };
/** Endpoints share a payload that was read so long ago. */
const PAYLOAD_KEPT_MS = 1_000;
const TEST_MS_MAX = 60_000;

interface Received {
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

describe.each(await testStores())("what an endpoint includes, on $name", (store) => {
  let world: WebhookWorld;
  /** Endpoints that are in trouble. */
  const failing = new Set<string>();

  beforeAll(async () => {
    world = await startWebhookWorld(store, NAMES, {
      env: { WEBHOOK_SCHEDULE_MS: "0,60000" },
      // Every endpoint repeats what it was sent, as careless ones do.
      answer: ({ path, body }, response) =>
        response.writeHead(failing.has(path.slice(1)) ? 500 : 200).end(`got ${body}`),
    });
  });
  afterAll(() => world.remove());

  const register = async (tenant: Tenant, name: string, include?: readonly string[]): Promise<string> => {
    const body = { url: world.urlOf(name), ...(include === undefined ? {} : { include }) };
    const { status, json } = await tenant.call("POST", "/webhooks", { body });
    expect(status).toBe(201);
    expect(json.include).toEqual(include ?? []);
    return json.id;
  };
  const send = async (tenant: Tenant): Promise<string> =>
    (await tenant.send(newKey(), message({ to: TO, subject: SUBJECT, metadata: { order: "A-7" } }))).json.id;
  const callsTo = (name: string): readonly ReceivedCall[] =>
    world.receiver.calls.filter(({ path }) => path === `/${name}`);
  const callOf = async (name: string, type: string, id: string): Promise<ReceivedCall> => {
    const find = () =>
      callsTo(name).findLast(({ body }) => {
        const event = JSON.parse(body) as Received;
        return event.type === type && event.data.id === id;
      });
    await until(() => find() !== undefined, `${type} at ${name}`, TEST_MS_MAX / 2);
    return find() as ReceivedCall;
  };
  const dataOf = ({ body }: ReceivedCall) => (JSON.parse(body) as Received).data;
  /** A delivery as the API shows it, once `attempts` have ended. */
  const shownDelivery = async (tenant: Tenant, endpointId: string, call: ReceivedCall, attempts = 1) => {
    const path = `/webhooks/${endpointId}/deliveries/${call.headers["webhook-id"]}`;
    const ended = async () =>
      (await tenant.call("GET", path)).json.attempt_log.filter(
        ({ outcome }: { outcome: string }) => outcome !== "running",
      );
    await until(async () => (await ended()).length === attempts, "the record of the call");
    return (await tenant.call("GET", path)).json;
  };

  test(
    "is what it asked for, and nobody else's payload changes by a byte",
    async () => {
      const tenant = await world.service.tenant();
      await register(tenant, "all", ["subject", "from", "to"]);
      await register(tenant, "some", ["to"]);
      await register(tenant, "none");
      const id = await send(tenant);
      for (const type of ["email.queued", "email.sent"]) {
        const [all, some, none] = [
          await callOf("all", type, id),
          await callOf("some", type, id),
          await callOf("none", type, id),
        ];
        expect(dataOf(all)).toMatchObject(CONTENT);
        const { from: _from, to, subject: _subject, ...rest } = dataOf(all);
        expect(to).toBe(TO);
        expect(dataOf(some)).toEqual({ ...rest, to });
        expect(none.body).toBe(JSON.stringify({ ...JSON.parse(all.body), data: rest }));
        expect(none.body).not.toContain("@");
        for (const { headers, body } of [all, some, none])
          expect(webhookFault(type, { headers: new Headers(headers), text: body })).toBeNull();
      }
      const { json } = await tenant.call("GET", `/api/v1/emails/${id}`);
      expect(json).toMatchObject(CONTENT);
    },
    TEST_MS_MAX,
  );

  test(
    "can be changed, is listed, and applies to pending deliveries too; the audit log names the change",
    async () => {
      const tenant = await world.service.tenant();
      const id = await register(tenant, "changed", ["from"]);
      const change = (include: unknown) => tenant.call("PATCH", `/webhooks/${id}`, { body: { include } });
      expect((await change(["to", "subject"])).json.include).toEqual(["to", "subject"]);
      const described = await tenant.call("PATCH", `/webhooks/${id}`, { body: { description: "Orders" } });
      expect(described.json.include).toEqual(["to", "subject"]);
      expect((await tenant.call("GET", `/webhooks/${id}`)).json.include).toEqual(["to", "subject"]);
      expect((await tenant.call("GET", "/webhooks")).json.data).toMatchObject([
        { include: ["to", "subject"] },
      ]);
      const revision = () => world.service.log.store.lastRevision(webhooksStream(tenant.workspaceId));
      const before = await revision();
      expect((await change(["to", "subject"])).status).toBe(200);
      expect(await revision()).toBe(before);
      await until(async () => {
        const { json } = await tenant.call("GET", "/api/v1/audit-log?action=webhook_endpoint.updated");
        return json.data.some(
          ({ target, details }: { target: { id: string }; details: { changed: string[] } }) =>
            target.id === id && details.changed.join() === "include",
        );
      }, "the change in the audit log");

      failing.add("pending");
      const pending = await register(tenant, "pending", ["to"]);
      const message = await send(tenant);
      const first = await callOf("pending", "email.queued", message);
      expect(dataOf(first)).toMatchObject({ to: TO });
      await shownDelivery(tenant, pending, first);
      const none = await tenant.call("PATCH", `/webhooks/${pending}`, { body: { include: [] } });
      expect(none.json.include).toEqual([]);
      failing.delete("pending");
      await tenant.call("POST", `/webhooks/${pending}/recover`, { body: {} });
      await until(
        () =>
          callsTo("pending").filter((call) => call.headers["webhook-id"] === first.headers["webhook-id"])
            .length === 2,
        "the repeat",
      );
      expect((await callOf("pending", "email.queued", message)).body).not.toContain("@");
    },
    TEST_MS_MAX,
  );

  test(
    "is null in a repeat after the erasure, and on the page of the delivery",
    async () => {
      const tenant = await world.service.tenant();
      const endpointId = await register(tenant, "erased", ["from", "to", "subject"]);
      const id = await send(tenant);
      const first = await callOf("erased", "email.sent", id);
      const shown = await shownDelivery(tenant, endpointId, first);
      expect(shown.payload).toEqual(JSON.parse(first.body));
      await until(
        async () => (await tenant.call("DELETE", `/api/v1/emails/${id}/content`)).status === 200,
        "the erasure",
      );
      const path = `/webhooks/${endpointId}/deliveries/${shown.id}`;
      const gone = { from: null, to: null, subject: null };
      expect((await tenant.call("GET", path)).json.payload.data).toMatchObject(gone);
      const erasedAt = Date.now();
      await until(
        () => Date.now() > erasedAt + PAYLOAD_KEPT_MS,
        "the end of payloads read before the erasure",
      );
      const before = callsTo("erased").length;
      expect((await tenant.call("POST", `${path}/retry`)).status).toBe(202);
      await until(() => callsTo("erased").length > before, "the repeat");
      expect(dataOf(await callOf("erased", "email.sent", id))).toMatchObject(gone);
    },
    TEST_MS_MAX,
  );

  test(
    "is not kept when the endpoint's answer repeats it",
    async () => {
      const tenant = await world.service.tenant();
      const endpointId = await register(tenant, "echo", ["from", "to", "subject"]);
      const id = await send(tenant);
      const call = await callOf("echo", "email.queued", id);
      const [attempt] = (await shownDelivery(tenant, endpointId, call)).attempt_log;
      expect(attempt.excerpt).toContain(`"from":"<content>","to":"<content>","subject":"<content>"`);
      const stream = webhookDeliveryStream(call.headers["webhook-id"] as string);
      const events = await world.service.log.store.read(stream, 0, 10);
      const stored = JSON.stringify(events.map(({ data }) => data));
      for (const { data } of events) expect(data).not.toHaveProperty("excerpt");
      for (const text of ["@", "ana", "brien", "4711"]) {
        expect(attempt.excerpt).not.toContain(text);
        expect(stored.replaceAll(/[0-9a-f-]{36}|"sealedExcerpt":"[^"]*"/g, "")).not.toContain(text);
      }
      await until(
        async () => (await tenant.call("DELETE", `/api/v1/emails/${id}/content`)).status === 200,
        "the erasure",
      );
      expect((await shownDelivery(tenant, endpointId, call)).attempt_log[0].excerpt).toBeNull();
    },
    TEST_MS_MAX,
  );

  test(
    "is there in events of a test key's mail, and in none but those of messages",
    async () => {
      const tenant = await world.service.tenant();
      const endpointId = await register(tenant, "test", ["from", "to", "subject"]);
      await register(tenant, "others");
      const id = await send(await tenant.withKey({ isTest: true }));
      expect(dataOf(await callOf("test", "email.sent", id))).toMatchObject({ ...CONTENT, test: true });

      await tenant.call("POST", "/api/v1/suppressions", { body: { address: "eva@example.org" } });
      await tenant.call("POST", `/webhooks/${endpointId}/test`);
      const find = (name: string, type: string) =>
        callsTo(name).find(({ body }) => (JSON.parse(body) as Received).type === type);
      await until(
        () =>
          find("test", "suppression.created") !== undefined &&
          find("others", "suppression.created") !== undefined &&
          find("test", "webhook.test") !== undefined,
        "the other events",
      );
      expect(find("test", "suppression.created")?.body).toBe(
        find("others", "suppression.created")?.body as string,
      );
      const { from, to, subject } = dataOf(find("test", "webhook.test") as ReceivedCall);
      expect([from, to, subject]).toEqual([undefined, undefined, undefined]);
    },
    TEST_MS_MAX,
  );

  test.each([
    ["what does not exist", ["to", "html"], "/include/1", "must be one of from, to, subject"],
    ["a member twice", ["to", "to"], "/include", "must not contain duplicates"],
    ["null", null, "/include", "is null: leave it out"],
    ["a text", "to", "/include", "must be a list"],
  ])("is refused if it is %s", async (_, include, pointer, fault) => {
    const tenant = await world.service.tenant({ sender: null });
    const url = world.urlOf("all");
    const refused = await tenant.call("POST", "/webhooks", { body: { url, include } });
    expectProblem(refused, 400, "INVALID_REQUEST");
    expect(refused.json.errors).toEqual([{ pointer, message: fault }]);
    const id = await register(tenant, "all");
    expectProblem(
      await tenant.call("PATCH", `/webhooks/${id}`, { body: { include } }),
      400,
      "INVALID_REQUEST",
    );
  });

  describe("needs the scope by which a key could read it in the messages:", () => {
    const patch = (as: Tenant, id: string, body: object) => as.call("PATCH", `/webhooks/${id}`, { body });
    let owner: Tenant;
    let manager: Tenant;
    let supporter: Tenant;
    beforeAll(async () => {
      owner = await world.service.tenant({ sender: null });
      manager = await owner.withKey({ scopes: ["webhook:manage"] });
      supporter = await owner.withKey({ scopes: ["webhook:manage", "email:status"] });
    });

    test("email:status or email:read for addresses, email:read for the subject", async () => {
      const url = world.urlOf("all");
      for (const [as, include, scope] of [
        [manager, ["to"], "email:status or email:read"],
        [manager, ["from"], "email:status or email:read"],
        [manager, ["subject"], "email:read"],
        [supporter, ["to", "subject"], "email:read"],
      ] as const) {
        const refused = await as.call("POST", "/webhooks", { body: { url, include } });
        expectProblem(refused, 403, "FORBIDDEN");
        expect(refused.json.detail).toContain(`in include needs the scope ${scope} too`);
      }
      const id = await register(supporter, "all", ["from", "to"]);
      expectProblem(await patch(supporter, id, { include: ["subject"] }), 403, "FORBIDDEN");
      expect((await supporter.call("GET", `/webhooks/${id}`)).json.include).toEqual(["from", "to"]);
    });

    test("what an endpoint has may stay and be taken away, but not go elsewhere", async () => {
      const id = await register(owner, "some", ["to", "subject"]);
      const kept = await patch(manager, id, { description: "d", include: ["subject", "to"] });
      expect(kept).toMatchObject({ status: 200, json: { description: "d", include: ["subject", "to"] } });
      expect((await patch(manager, id, { url: world.urlOf("some") })).status).toBe(200);
      const moved = await patch(manager, id, { url: world.urlOf("none") });
      expectProblem(moved, 403, "FORBIDDEN");
      expect(moved.json.detail).toContain("moving an endpoint that is told to");
      expectProblem(await patch(supporter, id, { url: world.urlOf("none") }), 403, "FORBIDDEN");
      expectProblem(await patch(manager, id, { include: ["from", "to"] }), 403, "FORBIDDEN");
      expect((await patch(manager, id, { include: ["to"] })).json.include).toEqual(["to"]);
      expect((await patch(supporter, id, { url: world.urlOf("none") })).status).toBe(200);
      expect((await patch(manager, id, { url: world.urlOf("some"), include: [] })).status).toBe(200);
      expectProblem(await patch(manager, crypto.randomUUID(), { include: ["to"] }), 404, "WEBHOOK_NOT_FOUND");
    });

    test("in the dashboard too, which offers only what may be chosen", async () => {
      const id = await register(owner, "changed", ["subject"]);
      const visitor = await logIn(world.service.url, manager.apiKey);
      expect((await visitor.get("/webhooks/new")).html).not.toContain('name="include"');
      const fields = { url: world.urlOf("pending"), include: "to" };
      const refused = await visitor.post("/webhooks/new", fields);
      expect(refused.status).toBe(422);
      expect(refused.html).toContain("needs the scope email:status or email:read too");
      const edit = `/webhooks/${id}/edit`;
      expect((await visitor.get(edit)).html).toMatch(/name="include" value="subject"[^>]* checked/);
      const kept = { url: world.urlOf("changed"), description: "d", include: "subject" };
      expect((await visitor.post(edit, kept)).status).toBe(303);
      expect((await visitor.post(edit, { ...kept, url: world.urlOf("pending") })).status).toBe(422);
      expect((await owner.call("GET", `/webhooks/${id}`)).json).toMatchObject({
        include: ["subject"],
        description: "d",
      });
    });
  });
});
