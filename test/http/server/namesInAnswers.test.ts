import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { plainData } from "../../../src/kernel/event/eventCodec.ts";
import { LOG_START } from "../../../src/ports/eventStore.ts";
import { type Sink, type SinkAnswer, startSmtpSink } from "../../support/mail/smtpSink.ts";
import { testStores } from "../../support/stores/stores.ts";
import { message, newKey, type Tenant } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";
import { startWebhookWorld, type WebhookWorld } from "../../support/webhook/webhookWorld.ts";

setDefaultTimeout(120_000);
const SETTLED_MS_MAX = 120_000;

const PERSON = "ana.smithson@example.org";
const BASE64 = Buffer.from(PERSON).toString("base64");

/** What a relay or an endpoint may say about a person, and what of it is found by looking for it. */
const SPELLINGS = {
  address: [`User unknown: <${PERSON}>`, PERSON],
  "the local part": ["User unknown: ana.smithson", "ana.smithson"],
  "the local part in upper case": ["User unknown: ANA.SMITHSON", "ANA.SMITHSON"],
  VERP: ["refused for bounces+ana.smithson=example.org@lists.example.net", "ana.smithson="],
  Base64: [`User unknown: ${BASE64}`, BASE64],
  hexadecimal: [`queued as ${Buffer.from("ana.smithson").toString("hex")}`, "616e612e736d"],
  "a split name": ["User unknown: Smithson, Ana", "Smithson, Ana"],
  "a name alone": ["Frau Smithson has left us", "Smithson has left"],
} as const;
const MARKERS = Object.values(SPELLINGS).map(([, marker]) => marker);

const PERSONAL = new Set(["EmailContentStored", "SuppressionAddressStored"]);

describe.each(await testStores())("answers that name a person, on $name", (store) => {
  let sink: Sink;
  let world: WebhookWorld;
  let tenant: Tenant;
  let endpointId: string;
  /** What the relay says to RCPT and to the final dot. */
  let [rcpt, final]: [SinkAnswer, SinkAnswer] = [undefined, undefined];

  beforeAll(async () => {
    sink = await startSmtpSink({ rcpt: () => rcpt, final: () => final });
    const relay = { SMTP_URL: `smtp://127.0.0.1:${sink.port}`, DELIVERY_RETRY_BASE_MS: "600000" };
    world = await startWebhookWorld(store, ["a"], {
      env: relay,
      answer: (_, response) => {
        response.end(
          Object.values(SPELLINGS)
            .map(([said]) => said)
            .join("\n"),
        );
      },
    });
    tenant = await world.service.tenant();
    endpointId = (await tenant.call("POST", "/webhooks", { body: { url: world.urlOf("a") } })).json.id;
  });
  afterAll(async () => {
    await world.remove();
    await sink.close();
  });

  const get = async (id: string) => (await tenant.call("GET", `/api/v1/emails/${id}`)).json;
  const accept = async () => (await tenant.send(newKey(), message({ to: PERSON }))).json.id as string;
  const lastOf = async (id: string, status: string) => {
    await until(async () => (await get(id)).status === status, `${id} to be ${status}`, SETTLED_MS_MAX);
    return (await get(id)).timeline.at(-1);
  };
  const deliveries = async () =>
    (await tenant.call("GET", `/webhooks/${endpointId}/deliveries?limit=100`)).json.data;
  const deliveriesSettled = () =>
    until(
      async () => (await deliveries()).every((one: { status: string }) => one.status === "delivered"),
      "webhooks to be delivered",
      SETTLED_MS_MAX,
    );
  const deliveryOf = async (eventType: string) => {
    const one = (await deliveries()).find((row: { event_type: string }) => row.event_type === eventType);
    return (await tenant.call("GET", `/webhooks/${endpointId}/deliveries/${one.id}`)).json;
  };
  /** What the events of the log that nobody erases name the person by. */
  const named = async () => {
    const { store } = world.service.log;
    const found: string[] = [];
    for await (const { events } of store.readAll(LOG_START, {})) {
      const texts = events
        .filter(({ type }) => !PERSONAL.has(type))
        .map((one) => JSON.stringify(plainData(one)));
      found.push(...MARKERS.filter((marker) => texts.some((text) => text.includes(marker))));
    }
    return found;
  };

  test("are shown while the content exists, and are in no event that outlives it", async () => {
    const ids: string[] = [];
    for (const [said] of Object.values(SPELLINGS)) {
      final = { code: 250, text: `2.0.0 ${said}` };
      ids.push(await accept());
      const { reply, relay_id } = await lastOf(ids.at(-1) ?? "", "sent");
      expect({ reply, relay_id }).toEqual({
        reply: expect.stringMatching(/^250 2\.0\.0 \S+/),
        relay_id: undefined,
      });
      final = undefined;

      rcpt = { code: 450, text: `4.2.1 ${said}` };
      ids.push(await accept());
      expect((await lastOf(ids.at(-1) ?? "", "deferred")).reply).toMatch(/^450 4\.2\.1 \S+/);
      rcpt = { code: 550, text: `5.2.0 ${said.replace("unknown", "says no")}` };
      ids.push(await accept());
      expect(await lastOf(ids.at(-1) ?? "", "bounced")).toMatchObject({ code: 550, enhanced_code: "5.2.0" });
      rcpt = { code: 550, text: `5.7.1 ${said}` };
      ids.push(await accept());
      expect((await lastOf(ids.at(-1) ?? "", "failed")).reply).toMatch(/^550 5\.7\.1 \S+/);
      rcpt = undefined;
    }
    rcpt = { code: 550, text: "5.1.1 User unknown: ana.smithson" };
    const last = await accept();
    ids.push(last);
    expect(await lastOf(last, "bounced")).toMatchObject({
      reason: "recipient_address_rejected",
      code: 550,
      enhanced_code: "5.1.1",
      reply: "550 5.1.1 User unknown: ana.smithson",
    });
    await deliveriesSettled();
    expect((await deliveryOf("email.bounced")).attempt_log[0].excerpt).toContain("User unknown");
    expect((await deliveryOf("suppression.created")).attempt_log[0].excerpt).toContain("User unknown");
    expect(await named()).toEqual([]);

    const { json } = await tenant.call("POST", "/api/v1/erasures", { body: { address: PERSON } });
    const isDone = async () => (await tenant.call("GET", `/api/v1/erasures/${json.id}`)).json.status;
    await until(async () => (await isDone()) === "completed", "the erasure to complete", SETTLED_MS_MAX);
    for (const id of ids) {
      const { timeline } = await get(id);
      expect(JSON.stringify(timeline)).not.toMatch(new RegExp(MARKERS.join("|")));
      const outcome = timeline.findLast((one: { type: string }) => /sent|bounced|failed/.test(one.type));
      if (outcome?.type === "sent") expect(outcome.reply).toBe("250 2.0.0");
      else if (outcome) expect(outcome).not.toHaveProperty("reply");
    }
    expect((await get(last)).timeline.find((one: { type: string }) => one.type === "bounced")).toMatchObject({
      reason: "recipient_address_rejected",
      code: 550,
      enhanced_code: "5.1.1",
    });
    const bounced = await deliveryOf("email.bounced");
    expect(bounced.payload.data).toMatchObject({ code: 550, reply: null });
    expect(bounced.attempt_log[0]).toMatchObject({ status_code: 200, excerpt: null });
    expect((await deliveryOf("suppression.created")).attempt_log[0].excerpt).toBeNull();
    expect(await named()).toEqual([]);
  });

  test.each([
    ["Ok ", "0102018c8f7e6d5c-1a2b3c4d-5e6f-7a8b-9c0d-1e2f3a4b5c6d-000000"],
    ["OK id=", "1qwert-000Qb1-2C"],
  ])("leave what a relay calls the message, where that can be nobody's name: %s%s", async (said, relayId) => {
    rcpt = undefined;
    final = { code: 250, text: said + relayId };
    const { json } = await tenant.send(newKey(), message({ to: "bo@example.org" }));
    const reply = `250 ${said}${relayId}`;
    expect(await lastOf(json.id, "sent")).toMatchObject({ relay_id: relayId, reply });
    expect((await tenant.call("DELETE", `/api/v1/emails/${json.id}/content`)).status).toBe(200);
    const sent = (await get(json.id)).timeline.find((one: { type: string }) => one.type === "sent");
    expect(sent).toMatchObject({ relay_id: relayId, reply: "250" });
  });
});
