import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { TEST_SCOPES } from "../../../src/domain/apiKey/scopes.ts";
import { emailOf } from "../../support/mail/sentEmail.ts";
import { type Sink, startSmtpSink } from "../../support/mail/smtpSink.ts";
import { type TestStore, testStores } from "../../support/stores/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";
import { startWebhookWorld, type WebhookWorld } from "../../support/webhook/webhookWorld.ts";

describe.each(await testStores())("mail of a test key on $name", (store: TestStore) => {
  let sink: Sink;
  let world: WebhookWorld;
  let live: Tenant;
  let testTenant: Tenant;
  beforeAll(async () => {
    sink = await startSmtpSink();
    world = await startWebhookWorld(store, ["told"], { env: { SMTP_URL: `smtp://127.0.0.1:${sink.port}` } });
    live = await world.service.tenant();
    testTenant = await live.withKey({ isTest: true, scopes: TEST_SCOPES });
    await live.call("POST", "/webhooks", { body: { url: world.urlOf("told") } });
  });
  afterAll(async () => {
    await world.remove();
    await sink.close();
  });

  const listed = async (caller: Tenant, query = "") =>
    (await caller.call("GET", `/api/v1/emails?limit=100${query}`)).json.data.map(
      ({ id }: { id: string }) => id,
    );
  const usage = async (caller: Tenant, query = "") =>
    (await caller.call("GET", `/api/v1/usage?by=hour${query}`)).json.data as readonly Record<
      string,
      unknown
    >[];

  async function sendUntil(caller: Tenant, to: string, status: string, parts: Record<string, unknown> = {}) {
    const { json } = await caller.send(newKey(), message({ to, ...parts }));
    await until(async () => (await emailOf(caller, json.id)).status === status, `${to} to be ${status}`);
    return emailOf(caller, json.id);
  }

  test("has the prefix of a test key, and no more than its scopes", async () => {
    expect(testTenant.apiKey).toMatch(/^pl_test_[0-9A-Za-z]{50}$/);
    const wanted = { name: "ci", test: true, scopes: ["email:send", "webhook:manage"] };
    const refused = await live.call("POST", "/api/v1/api-keys", { body: wanted });
    expect(refused).toMatchObject({ status: 400, json: { errors: [{ pointer: "/scopes" }] } });
    const refusedKey = await live.call("POST", "/api/v1/api-keys", {
      body: { ...wanted, scopes: ["email:send"] },
    });
    expect(refusedKey).toMatchObject({ status: 201, json: { test: true } });
    expect(refusedKey.json.key).toStartWith(`pl_test_${refusedKey.json.id}`);
    const rotated = await live.call("POST", `/api/v1/api-keys/${refusedKey.json.id}/rotate`);
    expect(rotated).toMatchObject({ status: 201, json: { test: true } });
    expect(rotated.json.key).toStartWith("pl_test_");
  });

  test("stays inside, ends as named, and webhooks mark it as test mail", async () => {
    const { id, timeline } = await sendUntil(testTenant, "ana@example.net", "delivered");
    expect(timeline.map(({ type }: { type: string }) => type)).toContain("sent");
    expect(timeline.find(({ type }: { type: string }) => type === "sent")).toMatchObject({
      transport: "simulator",
    });
    await sendUntil(testTenant, "bounced@simulator.test", "bounced");
    await sendUntil(testTenant, "suppressed@simulator.test", "suppressed");
    const events = () => world.receiver.calls.map(({ body }) => JSON.parse(body));
    await until(
      () => events().some(({ type, data }) => type === "email.delivered" && data.id === id),
      "a call",
    );
    expect(events().every(({ data }) => data.test === true)).toBe(true);
    expect(sink.record.messages).toEqual([]);
  });

  test("is listed, read, counted and canceled apart", async () => {
    const tags = ["welcome"];
    const testMessage = await sendUntil(testTenant, "bo@example.net", "delivered", { tags });
    const liveMessage = await sendUntil(live, "bo@example.net", "sent", { tags });
    for (const [caller, own, other] of [
      [testTenant, testMessage, liveMessage],
      [live, liveMessage, testMessage],
    ] as const) {
      expect(await listed(caller)).toContain(own.id);
      for (const query of ["", "&to=bo@example.net", "&tag=welcome", "&status=delivered"])
        expect(await listed(caller, query)).not.toContain(other.id);
      expect(await listed(caller, "&tag=welcome")).toEqual([own.id]);
      expect((await caller.call("GET", `/api/v1/emails/${other.id}`)).status).toBe(404);
      expect((await caller.call("GET", `/api/v1/emails/${other.id}?as_of=${own.created_at}`)).status).toBe(
        404,
      );
      expect((await caller.call("POST", `/api/v1/emails/${other.id}/cancel`)).status).toBe(404);
      const at = new Date().toISOString();
      const rescheduled = await caller.call("POST", `/api/v1/emails/${other.id}/reschedule`, {
        body: { scheduled_at: at },
      });
      expect(rescheduled.status).toBe(404);
      expect((await caller.call("DELETE", `/api/v1/emails/${other.id}/content`)).status).toBe(404);
      expect(await usage(caller, "&tag=welcome")).toMatchObject([{ accepted: 1 }]);
      expect(await usage(caller, "&group_by=tag")).toMatchObject([{ tag: "welcome", accepted: 1 }]);
    }
    const feedback = { email_id: testMessage.id, type: "bounced", status: "5.1.1" };
    expect((await live.call("POST", "/api/v1/feedback", { body: feedback })).status).toBe(404);
  });

  test("has keys of its own for repeats", async () => {
    const key = newKey();
    const testSend = await testTenant.send(key, message({ subject: "one" }));
    const liveSend = await live.send(key, message({ subject: "two" }));
    expect([testSend.status, liveSend.status]).toEqual([202, 202]);
    expect(testSend.json.id).not.toBe(liveSend.json.id);
    const repeat = await testTenant.send(key, message({ subject: "one" }));
    expect(repeat.json).toEqual(testSend.json);
    const found = await testTenant.call("GET", `/api/v1/emails?idempotency_key=${encodeURIComponent(key)}`);
    expect(found.json.data.map(({ id }: { id: string }) => id)).toEqual([testSend.json.id]);
  });

  test("neither heeds nor makes suppressions of live mail", async () => {
    await world.service.suppress(live.workspaceId, "cy@example.net");
    await until(
      async () => (await live.send(newKey(), message({ to: "cy@example.net" }))).json.status === "suppressed",
      "the message to be suppressed",
    );
    await sendUntil(testTenant, "cy@example.net", "delivered");
    await sendUntil(testTenant, "bounced@simulator.test", "bounced");
    await sendUntil(testTenant, "complained@simulator.test", "complained");
    const { json } = await live.call("GET", "/api/v1/suppressions");
    expect(json.data.map(({ address }: { address: string }) => address)).toEqual(["cy@example.net"]);
  });

  test("survives a restart as what it is, and is erased with the person", async () => {
    const before = await listed(testTenant);
    await world.service.restart();
    expect(await listed(testTenant)).toEqual(before);
    expect(sink.record.messages.every(({ to }) => to[0] !== "ana@example.net")).toBe(true);
    const { json } = await live.call("POST", "/api/v1/erasures", { body: { address: "ana@example.net" } });
    await until(
      async () => (await live.call("GET", `/api/v1/erasures/${json.id}`)).json.status === "completed",
      "the erasure to complete",
    );
    const found = await Promise.all(before.map((id: string) => emailOf(testTenant, id)));
    expect(found.filter(({ to }) => to === "ana@example.net")).toEqual([]);
    expect(found.some(({ content_erased }) => content_erased)).toBe(true);
  }, 60_000);
});

describe.each(await testStores())(
  "what stays inside, with an unavailable relay, on $name",
  (store: TestStore) => {
    let service: TestService;
    beforeAll(async () => {
      const free = await startSmtpSink();
      await free.close();
      const limits = { LIMIT_MESSAGES_PER_DAY: "1", LIMIT_STORAGE_BYTES: "20", LIMIT_CONTENT_BYTES: "5000" };
      const relay = { DELIVERY: "on", SMTP_URL: `smtp://127.0.0.1:${free.port}` };
      service = await startService(store, { ...relay, ...limits });
    });
    afterAll(() => service.remove());

    test("needs neither the relay nor the daily limit; test mail takes storage of its own", async () => {
      const live = await service.tenant();
      const testTenant = await live.withKey({ isTest: true, scopes: TEST_SCOPES });
      const waits = await live.send(newKey(), message());
      await until(
        async () => (await emailOf(live, waits.json.id)).waiting?.reason === "relay_unavailable",
        "the relay to be reported as down",
      );
      expect(await live.send(newKey(), message())).toMatchObject({ json: { code: "DAILY_LIMIT_REACHED" } });
      const content = Buffer.from("some text of a file").toString("base64");
      const attachments = [{ filename: "a.txt", content_type: "text/plain", content }];
      const inside = [
        [live, await live.send(newKey(), message({ to: "delivered@simulator.test" }))],
        [testTenant, await testTenant.send(newKey(), message())],
        [testTenant, await testTenant.send(newKey(), message({ attachments, text: "x".repeat(6_000) }))],
      ] as const;
      for (const [caller, { status, json }] of inside) {
        expect(status).toBe(202);
        await until(
          async () => (await emailOf(caller, json.id)).status === "delivered",
          "the message to be delivered",
        );
      }
      const { json: workspace } = await live.call("GET", "/api/v1/workspace");
      expect(workspace.usage).toMatchObject({ storage_bytes: 0, test_storage_bytes: 19 });
      expect(workspace.usage.content_bytes).toBeLessThan(5_000);
      expect(workspace.usage.test_content_bytes).toBeGreaterThan(6_000);
      const refusal = { status: 413, json: { code: "STORAGE_LIMIT_EXCEEDED" } };
      for (const body of [message({ attachments }), message()])
        expect(await testTenant.send(newKey(), body)).toMatchObject(refusal);
    });
  },
);
