import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { HOUR_MS } from "../../../src/kernel/time.ts";
import { acceptedId, deliveredId, emailOf } from "../../support/mail/sentEmail.ts";
import { type Sink, type SinkAnswer, startSmtpSink } from "../../support/mail/smtpSink.ts";
import { type TestStore, testStores } from "../../support/stores/stores.ts";
import { message, newKey, type Tenant } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";
import { startWebhookWorld, type WebhookWorld } from "../../support/webhook/webhookWorld.ts";

const ADDRESS = "ana@example.net";

function startWorld(store: TestStore, relayPort: number): Promise<WebhookWorld> {
  return startWebhookWorld(store, ["told"], { env: { SMTP_URL: `smtp://127.0.0.1:${relayPort}` } });
}

interface WebhookEvent {
  readonly type: string;
  readonly data: Record<string, unknown>;
}

describe.each(await testStores())("feedback about messages on $name", (store) => {
  let sink: Sink;
  let world: WebhookWorld;
  let tenant: Tenant;
  /** What the relay says to the final dot; its own words unless set. */
  let relayReply: SinkAnswer;
  beforeAll(async () => {
    sink = await startSmtpSink({ final: () => relayReply });
    world = await startWorld(store, sink.port);
    tenant = await world.service.tenant();
    await tenant.call("POST", "/webhooks", { body: { url: world.urlOf("told") } });
  });
  afterAll(async () => {
    await world.remove();
    await sink.close();
  });

  const sent = (to: string) => deliveredId(tenant, to);

  function postFeedback(body: object) {
    return tenant.call("POST", "/api/v1/feedback", { body });
  }

  async function receivedEvent(type: string, id: string): Promise<WebhookEvent> {
    const calls = () => world.receiver.calls.map(({ body }) => JSON.parse(body) as WebhookEvent);
    const isExpected = (one: WebhookEvent) => one.type === type && one.data.id === id;
    await until(() => calls().some(isExpected), `the ${type} webhook`);
    return calls().find(isExpected) as WebhookEvent;
  }

  test("a delivery shows in the message and is sent to endpoints", async () => {
    const id = await sent(ADDRESS);
    const { status, json } = await postFeedback({ email_id: id, type: "delivered" });
    expect({ status, json }).toEqual({
      status: 200,
      json: { object: "feedback", email_id: id, outcome: "recorded" },
    });
    expect(await emailOf(tenant, id)).toMatchObject({ status: "delivered", waiting: null });
    expect((await emailOf(tenant, id)).timeline.at(-1)).toMatchObject({
      type: "delivered",
      attempt: 1,
      source: "api",
    });
    expect((await receivedEvent("email.delivered", id)).data).toMatchObject({
      status: "delivered",
      attempt: 1,
      source: "api",
    });
    expect((await postFeedback({ email_id: id, type: "delivered" })).json.outcome).toBe("superseded");
    const listed = async () => (await tenant.call("GET", "/api/v1/emails?status=delivered")).json.data;
    await until(async () => (await listed()).length === 1, "the list to show the feedback");
    expect((await listed())[0]).toMatchObject({ id, status: "delivered" });
    const usage = async () => (await tenant.call("GET", "/api/v1/usage?by=hour")).json.data[0];
    await until(async () => (await usage())?.delivered === 1, "usage to count the feedback");
    expect(await usage()).toMatchObject({ sent: 1, delivered: 1, complained: 0 });
  });

  test("a bounce that is the address's fault suppresses the address that was sent to", async () => {
    const to = "gone@example.net";
    const id = await sent(to);
    const reply = `550 5.1.1 <${to}> user unknown`;
    const messageId = `<${id}@example.com>`;
    expect(
      (await postFeedback({ message_id: messageId, type: "bounced", status: "5.1.1", reply })).json.outcome,
    ).toBe("recorded");
    const email = await emailOf(tenant, id);
    expect(email.status).toBe("bounced");
    expect(email.timeline.at(-1)).toMatchObject({
      type: "bounced",
      reason: "recipient_address_rejected",
      source: "api",
      code: 550,
      enhanced_code: "5.1.1",
      reply: "550 5.1.1 <recipient> user unknown",
    });
    expect((await tenant.call("GET", `/api/v1/suppressions/${to}`)).json).toMatchObject({
      reason: "bounce",
      email_id: id,
    });
    expect((await receivedEvent("email.bounced", id)).data).toMatchObject({
      status: "bounced",
      source: "api",
    });
  });

  test("the reply that a bounce keeps has no names in it, as the relay's own has none", async () => {
    const to = "left@example.net";
    const named = { to_name: "Ana Smithson", reply_to: "help@example.com", reply_to_name: "Berta Helper" };
    relayReply = { code: 250, text: "2.0.0 queued for Ana Smithson, replies to Berta Helper" };
    const id = await acceptedId(tenant, message({ to, ...named }));
    await until(async () => (await emailOf(tenant, id)).status === "sent", "the message to be sent");
    relayReply = undefined;
    const reply = "550 5.1.1 Ana Smithson has left, ask Berta Helper";
    await postFeedback({ email_id: id, type: "bounced", status: "5.1.1", reply });
    const replies = (await emailOf(tenant, id)).timeline.flatMap(
      (entry: { reply?: string }) => entry.reply ?? [],
    );
    expect(replies).toEqual([
      "250 2.0.0 queued for <content>, replies to <content>",
      "550 5.1.1 <content> has left, ask <content>",
    ]);
  });

  test.each<[string, object, string, boolean]>([
    ["permanent", { bounce: "permanent" }, "recipient_address_rejected", true],
    [
      "permanent, with a reply that gives another reason",
      { bounce: "permanent", reply: "554 5.7.1 blocked using zen.example" },
      "policy_rejected",
      false,
    ],
    ["transient", { bounce: "transient" }, "recipient_refused", false],
    ["transient, with a reply about the address", { bounce: "transient", status: "5.1.1" }, "", false],
    ["nothing", {}, "recipient_refused", false],
  ])("a bounce that its provider calls %s", async (_, facts, reason, suppresses) => {
    const to = `${crypto.randomUUID()}@example.net`;
    const id = await sent(to);
    expect((await postFeedback({ email_id: id, type: "bounced", ...facts })).json.outcome).toBe("recorded");
    const last = (await emailOf(tenant, id)).timeline.at(-1);
    expect(last).toMatchObject({ type: "bounced", ...(reason === "" ? {} : { reason }) });
    const { status } = await tenant.call("GET", `/api/v1/suppressions/${to}`);
    expect(status).toBe(suppresses ? 200 : 404);
  });

  test("a bounce for policy, quota or time suppresses nobody", async () => {
    const to = "full@example.net";
    for (const [status, reply] of [
      ["5.7.1", "554 5.7.1 blocked using zen.example"],
      ["5.2.2", "552 5.2.2 mailbox full"],
      ["4.4.7", ""],
    ] as const) {
      const id = await sent(to);
      expect((await postFeedback({ email_id: id, type: "bounced", status, reply })).json.outcome).toBe(
        "recorded",
      );
      expect((await emailOf(tenant, id)).status).toBe("bounced");
    }
    expect((await tenant.call("GET", `/api/v1/suppressions/${to}`)).status).toBe(404);
  });

  test("a complaint suppresses; lifted by hand, a repeat does not suppress again", async () => {
    const to = "annoyed@example.net";
    const id = await sent(to);
    await postFeedback({ email_id: id, type: "complained", feedback_type: "fraud" });
    expect(await emailOf(tenant, id)).toMatchObject({ status: "complained" });
    expect((await tenant.call("GET", `/api/v1/suppressions/${to}`)).json).toMatchObject({
      reason: "complaint",
    });
    expect((await receivedEvent("email.complained", id)).data).toMatchObject({
      feedback_type: "fraud",
      source: "api",
    });
    expect((await tenant.call("DELETE", `/api/v1/suppressions/${to}`)).status).toBe(204);
    expect((await postFeedback({ email_id: id, type: "complained" })).json.outcome).toBe("superseded");
    expect((await tenant.call("GET", `/api/v1/suppressions/${to}`)).status).toBe(404);
  });

  test("a complaint about a canceled message is recorded once and suppresses if the relay may have delivered it", async () => {
    const to = "unknown@example.net";
    relayReply = "drop";
    const { json } = await tenant.send(newKey(), message({ to }));
    await until(
      async () => (await emailOf(tenant, json.id)).status === "deferred",
      "the relay to drop the connection",
    );
    expect((await tenant.call("POST", `/api/v1/emails/${json.id}/cancel`)).status).toBe(409);
    // Its erasure ends it all the same.
    expect((await tenant.call("DELETE", `/api/v1/emails/${json.id}/content`)).status).toBe(200);
    relayReply = undefined;
    expect((await postFeedback({ email_id: json.id, type: "complained" })).json.outcome).toBe("recorded");
    const canceled = await emailOf(tenant, json.id);
    expect(canceled.status).toBe("canceled");
    expect(canceled.timeline.at(-1)).toMatchObject({ type: "complained", attempt: 1, source: "api" });
    expect((await receivedEvent("email.complained", json.id)).data).toMatchObject({ status: "canceled" });
    expect((await tenant.call("GET", `/api/v1/suppressions/${to}`)).json).toMatchObject({
      reason: "complaint",
      email_id: json.id,
    });
    expect((await tenant.call("DELETE", `/api/v1/suppressions/${to}`)).status).toBe(204);
    expect((await postFeedback({ email_id: json.id, type: "complained" })).json.outcome).toBe("superseded");
    expect((await tenant.call("GET", `/api/v1/suppressions/${to}`)).status).toBe(404);
    const held = (
      await tenant.send(
        newKey(),
        message({ to: "never@example.net", scheduled_at: new Date(Date.now() + HOUR_MS).toISOString() }),
      )
    ).json;
    await tenant.call("POST", `/api/v1/emails/${held.id}/cancel`);
    expect((await postFeedback({ email_id: held.id, type: "complained" })).json.outcome).toBe("superseded");
    expect((await tenant.call("GET", "/api/v1/suppressions/never@example.net")).status).toBe(404);
  });

  test("of an erased message nothing personal is kept, and its recipient is suppressed all the same", async () => {
    const to = "erased@example.net";
    const id = await sent(to);
    await tenant.call("DELETE", `/api/v1/emails/${id}/content`);
    const reply = `550 5.1.1 <${to}> user unknown`;
    expect((await postFeedback({ email_id: id, type: "bounced", reply })).json.outcome).toBe("recorded");
    const email = await emailOf(tenant, id);
    expect(email).toMatchObject({ status: "bounced", to: null });
    expect(JSON.stringify(email)).not.toContain("erased@");
    expect((await tenant.call("GET", `/api/v1/suppressions/${to}`)).json).toMatchObject({
      reason: "bounce",
      address: null,
    });
  });

  test("only a message of the key's workspace accepts feedback", async () => {
    const id = await sent(ADDRESS);
    const other = await world.service.tenant();
    const answer = await other.call("POST", "/api/v1/feedback", {
      body: { email_id: id, type: "complained" },
    });
    expect(answer.status).toBe(404);
    expect((await emailOf(tenant, id)).status).toBe("sent");
    expect((await postFeedback({ message_id: "<somebody@else.example>", type: "delivered" })).status).toBe(
      404,
    );
    expect((await postFeedback({ email_id: crypto.randomUUID(), type: "delivered" })).status).toBe(404);
  });

  test("is found by what the relay called the message, with its recipient", async () => {
    const to = "provider@example.net";
    const relayId = "0102018f3c2d4e5f-7a8b9c0d";
    relayReply = { code: 250, text: `Ok ${relayId}` };
    const id = await sent(to);
    relayReply = undefined;
    const named = { provider_id: relayId, recipient: to, type: "delivered" };
    expect((await postFeedback({ ...named, recipient: "else@example.net" })).status).toBe(404);
    expect((await postFeedback({ ...named, provider_id: "0102018f3c2d4e5f-00000000" })).status).toBe(404);
    expect((await postFeedback(named)).json).toEqual({
      object: "feedback",
      email_id: id,
      outcome: "recorded",
    });
  });

  test("names one message, by one of its names", async () => {
    const id = crypto.randomUUID();
    const faults = async (body: object) => (await postFeedback(body)).json.errors[0];
    expect(await faults({ type: "delivered" })).toMatchObject({ pointer: "/email_id" });
    expect(await faults({ type: "delivered", email_id: id, message_id: `<${id}@a.example>` })).toMatchObject({
      pointer: "/email_id",
    });
    expect(await faults({ type: "delivered", provider_id: "0102" })).toMatchObject({ pointer: "/recipient" });
    expect(await faults({ type: "delivered", email_id: id, recipient: ADDRESS })).toMatchObject({
      pointer: "/recipient",
    });
    expect(await faults({ type: "opened", email_id: id })).toMatchObject({ pointer: "/type" });
    expect(await faults({ type: "bounced", email_id: id, status: "bad" })).toMatchObject({
      pointer: "/status",
    });
  });
});
