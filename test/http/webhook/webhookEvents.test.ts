import { afterAll, afterEach, beforeAll, describe, expect, test } from "bun:test";
import { readEmailState } from "../../../src/commands/email/readEmail.ts";
import { recordSentByOperator } from "../../../src/domain/email/decisions.ts";
import { WEBHOOK_EVENT_TYPES } from "../../../src/domain/webhookEventTypes.ts";
import { webhookFault } from "../../gate/documentedAnswers.ts";
import { type Sink, type SinkAnswer, startSmtpSink } from "../../support/mail/smtpSink.ts";
import { type TestStore, testStores } from "../../support/stores/stores.ts";
import { message, newKey, SENDER, type Tenant } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";
import { startWebhookWorld, type WebhookWorld } from "../../support/webhook/webhookWorld.ts";

const PAYLOAD_BYTES_MAX = 24_000;
const METADATA_BYTES_MAX = 16_000;
const REPLY_CHARACTERS_MAX = 500;
/** Ten tags of 64 characters that take four bytes each. */
const LONGEST_TAGS = Array.from({ length: 10 }, (_, index) =>
  String.fromCodePoint(0x1f600 + index).repeat(64),
);
/** Of four bytes a character. */
const LONGEST_SUBJECT = "😀".repeat(998);
const LONGEST_DOMAIN = `${`${"d".repeat(63)}.`.repeat(3)}${"e".repeat(60)}.eu`;
const LONGEST_FROM = `${"f".repeat(64)}@${LONGEST_DOMAIN}`;
const LONGEST_TO = `${"t".repeat(64)}@${LONGEST_DOMAIN}`;
const TEST_MS_MAX = 60_000;

interface WebhookEvent {
  readonly type: string;
  readonly version: number;
  readonly timestamp: string;
  readonly data: Record<string, unknown>;
}

/** A tenant with an endpoint for every type, and what it is told. */
async function subscriber(
  world: WebhookWorld,
  name: string,
  { sender = SENDER, include = [] }: { readonly sender?: string; readonly include?: readonly string[] } = {},
) {
  const tenant = await world.service.tenant({ sender });
  const { json } = await tenant.call("POST", "/webhooks", { body: { url: world.urlOf(name), include } });
  const calls = () => world.receiver.calls.filter(({ path }) => path === `/${name}`);
  const receivedEvents = () => calls().map(({ body }) => JSON.parse(body) as WebhookEvent);
  const receivedEvent = async (type: string, id?: string): Promise<WebhookEvent> => {
    const isExpected = (one: WebhookEvent) => one.type === type && (id === undefined || one.data.id === id);
    await until(() => receivedEvents().some(isExpected), `the ${type} webhook`, TEST_MS_MAX / 2);
    return receivedEvents().find(isExpected) as WebhookEvent;
  };
  return { tenant, endpointId: json.id as string, calls, receivedEvents, receivedEvent };
}

function accept(tenant: Tenant, parts: Readonly<Record<string, unknown>> = {}): Promise<string> {
  return tenant.send(newKey(), message(parts)).then(({ json }) => json.id);
}

/** The ids of a new template and its published version, as sends and payloads name them. */
async function publishedTemplate(tenant: Tenant, subject = "Hi") {
  const { json } = await tenant.call("POST", "/api/v1/templates", { body: { name: "Welcome" } });
  const versions = `/api/v1/templates/${json.id}/versions`;
  const drafted = await tenant.call("POST", versions, { body: { subject, text: "Hello" } });
  await tenant.call("POST", `${versions}/${drafted.json.id}/publish`);
  return { template_id: json.id as string, template_version_id: drafted.json.id as string };
}

async function startWorld(store: TestStore, relayPort: number, env: Readonly<Record<string, string>> = {}) {
  const relay = { SMTP_URL: `smtp://127.0.0.1:${relayPort}`, DELIVERY_RETRY_BASE_MS: "50" };
  return startWebhookWorld(store, ["all", "other", "size", "plain-size", "template", "life", "by-message"], {
    env: { ...relay, ...env },
  });
}

describe.each(await testStores())("webhook events on $name", (store) => {
  let sink: Sink;
  let world: WebhookWorld;
  /** What the relay says to RCPT. */
  let rcpt: SinkAnswer;
  beforeAll(async () => {
    sink = await startSmtpSink({ rcpt: () => rcpt });
    world = await startWorld(store, sink.port);
  });
  afterEach(() => {
    rcpt = undefined;
  });
  afterAll(async () => {
    await world.remove();
    await sink.close();
  });

  test(
    "is every type that there is, each as it is documented",
    async () => {
      const { tenant, endpointId, calls, receivedEvents, receivedEvent } = await subscriber(world, "all");
      const metadata = { order: "A-7", größe: 2.5, paid: true };

      const sent = await accept(tenant, { metadata });
      expect((await receivedEvent("email.queued", sent)).data).toMatchObject({ status: "queued", metadata });
      expect((await receivedEvent("email.sent", sent)).data).toMatchObject({
        status: "sent",
        attempt: 1,
        transport: "smtp",
        source: null,
        metadata,
      });

      const tell = (type: string) =>
        tenant.call("POST", "/api/v1/feedback", { body: { email_id: sent, type } });
      expect((await tell("delivered")).status).toBe(200);
      expect((await receivedEvent("email.delivered", sent)).data).toMatchObject({
        status: "delivered",
        attempt: 1,
        source: "api",
        metadata,
      });
      expect((await tell("complained")).status).toBe(200);
      expect((await receivedEvent("email.complained", sent)).data).toMatchObject({
        status: "complained",
        feedback_type: "abuse",
        source: "api",
      });
      await until(
        () => receivedEvents().some(({ data }) => data.email_id === sent),
        "the suppression after the complaint",
      );
      const complainant = message({}).to;
      expect((await tenant.call("DELETE", `/api/v1/suppressions/${complainant}`)).status).toBe(204);

      rcpt = { code: 450, text: "4.2.1 <ana@example.com> come back later" };
      const late = await accept(tenant);
      expect((await receivedEvent("email.delivery_delayed", late)).data).toMatchObject({
        status: "deferred",
        attempt: 1,
        reason: "recipient_deferred",
        code: 450,
        reply: "450 4.2.1 <recipient> come back later",
        metadata: null,
      });
      const { json: manualSuppression } = await tenant.call("POST", "/api/v1/suppressions", {
        body: { address: "ana@example.com" },
      });
      expect((await receivedEvent("suppression.created", manualSuppression.id)).data).toMatchObject({
        object: "suppression",
        address: "ana@example.com",
        reason: "manual",
        email_id: null,
      });
      expect((await receivedEvent("email.suppressed", late)).data).toMatchObject({
        status: "suppressed",
        reason: "suppressed_since",
      });
      expect((await receivedEvent("email.suppressed", await accept(tenant))).data).toMatchObject({
        reason: "recipient_suppressed",
        sequence: 1,
      });
      expect((await tenant.call("DELETE", "/api/v1/suppressions/ana@example.com")).status).toBe(204);
      expect((await receivedEvent("suppression.deleted", manualSuppression.id)).data).toMatchObject({
        address: "ana@example.com",
      });

      rcpt = { code: 550, text: "5.1.1 nobody here" };
      const bounced = await accept(tenant, { to: "nobody@example.net" });
      expect((await receivedEvent("email.bounced", bounced)).data).toMatchObject({
        status: "bounced",
        reason: "recipient_address_rejected",
        source: "relay",
        code: 550,
      });
      await until(
        () => receivedEvents().some(({ data }) => data.email_id === bounced),
        "the suppression after the bounce",
      );
      rcpt = { code: 550, text: "5.7.1 not from you" };
      const refused = await accept(tenant, { to: "them@example.net" });
      expect((await receivedEvent("email.failed", refused)).data).toMatchObject({
        status: "failed",
        reason: "policy_rejected",
      });

      await tenant.call("POST", `/webhooks/${endpointId}/test`);
      expect((await receivedEvent("webhook.test", endpointId)).data).toMatchObject({
        object: "webhook_endpoint",
        url: world.urlOf("all"),
      });
      const { json: other } = await tenant.call("POST", "/webhooks", { body: { url: world.urlOf("other") } });
      await tenant.call("POST", `/webhooks/${other.id}/disable`);
      expect((await receivedEvent("webhook.disabled", other.id)).data).toMatchObject({
        url: world.urlOf("other"),
        reason: "manual",
      });

      const scheduled_at = new Date(Date.now() + 86_400_000).toISOString();
      const scheduled = await accept(tenant, { scheduled_at });
      expect((await receivedEvent("email.scheduled", scheduled)).data).toMatchObject({
        status: "scheduled",
        scheduled_at,
      });
      const { events } = recordSentByOperator(await readEmailState(world.service.log.store, scheduled));
      await world.service.addEmailEvents(scheduled, ...events);
      expect((await receivedEvent("email.sent", scheduled)).data).toMatchObject({
        status: "sent",
        ...{ attempt: 0, transport: "unknown", reply: "", relay_id: null, source: "operator" },
      });

      rcpt = { code: 450, text: "4.2.1 later" };
      const unwanted = await accept(tenant);
      const canceled = async () => {
        const answer = await tenant.call("POST", `/api/v1/emails/${unwanted}/cancel`);
        return answer.status === 200;
      };
      await until(canceled, "the message to be held and canceled");
      expect((await receivedEvent("email.canceled", unwanted)).data).toMatchObject({ status: "canceled" });

      expect([...new Set(receivedEvents().map(({ type }) => type))].sort()).toEqual(
        [...WEBHOOK_EVENT_TYPES].sort(),
      );
      for (const { headers, body } of calls()) {
        const { type, data } = JSON.parse(body) as WebhookEvent;
        const fault = webhookFault(type, { headers: new Headers(headers), text: body });
        expect({ type, fault }).toEqual({ type, fault: null });
        const id = headers["webhook-id"] as string;
        const shown = await tenant.call("GET", `/webhooks/${endpointId}/deliveries/${id}`);
        expect(shown.json.payload).toEqual(JSON.parse(body));
        expect(shown.json.email_id).toBe(data.object === "email" ? data.id : null);
        if (data.object !== "email") continue;
        const { json } = await tenant.call("GET", `/api/v1/emails/${data.id}`);
        const entry = json.timeline.find(({ sequence }: { sequence: number }) => sequence === data.sequence);
        expect(entry.at).toBe(JSON.parse(body).timestamp);
      }
    },
    TEST_MS_MAX,
  );

  test(
    "is found by its message in the list of deliveries, with the other filters too",
    async () => {
      const { tenant, endpointId, receivedEvent } = await subscriber(world, "by-message");
      const [sent, other] = [await accept(tenant), await accept(tenant)];
      for (const id of [sent, other]) await receivedEvent("email.sent", id);
      const typesOf = async (query: string) => {
        const path = `/webhooks/${endpointId}/deliveries?${query}`;
        const { json } = await tenant.call("GET", path);
        for (const { email_id } of json.data) expect(email_id).toBe(sent);
        return json.data.map(({ event_type }: { event_type: string }) => event_type);
      };
      expect(await typesOf(`email_id=${sent}`)).toEqual(["email.sent", "email.queued"]);
      expect(await typesOf(`email_id=${sent.toUpperCase()}&event_type=email.queued`)).toEqual([
        "email.queued",
      ]);
      expect(await typesOf(`email_id=${sent}&status=exhausted`)).toEqual([]);
      expect(await typesOf(`email_id=${sent}&created_from=2090-01-01T00:00:00Z`)).toEqual([]);
      expect(await typesOf(`email_id=${crypto.randomUUID()}`)).toEqual([]);
      const first = await tenant.call("GET", `/webhooks/${endpointId}/deliveries?email_id=${sent}&limit=1`);
      const next = `limit=1&email_id=${sent}&cursor=${encodeURIComponent(first.json.next_cursor)}`;
      expect(await typesOf(next)).toEqual(["email.queued"]);
      const invalid = await tenant.call("GET", `/webhooks/${endpointId}/deliveries?email_id=`);
      expect(invalid.status).toBe(400);
    },
    TEST_MS_MAX,
  );

  test(
    "names the template and its version, and neither without a template",
    async () => {
      const { tenant, receivedEvent } = await subscriber(world, "template");
      const named = await publishedTemplate(tenant);
      const { from, to } = message({});
      const { json: sent } = await tenant.send(newKey(), { from, to, template_id: named.template_id });
      expect((await receivedEvent("email.queued", sent.id)).data).toMatchObject(named);
      expect((await receivedEvent("email.sent", sent.id)).data).toMatchObject(named);
      const plain = await accept(tenant);
      expect((await receivedEvent("email.sent", plain)).data).toMatchObject({
        template_id: null,
        template_version_id: null,
      });
    },
    TEST_MS_MAX,
  );

  test(
    "is under 24,000 bytes at its largest",
    async () => {
      const include = ["from", "to", "subject"];
      const { tenant, calls, receivedEvent } = await subscriber(world, "size", {
        sender: LONGEST_FROM,
        include,
      });
      const plain = { url: world.urlOf("plain-size") };
      expect((await tenant.call("POST", "/webhooks", { body: plain })).status).toBe(201);
      const text = "x".repeat(500);
      const entries = Array.from({ length: 31 }, (_, index) => [
        `name ${String(index).padStart(2, "0")}`,
        text,
      ]);
      const rest = METADATA_BYTES_MAX - JSON.stringify(Object.fromEntries(entries)).length;
      const metadata = Object.fromEntries([...entries, ["l", "x".repeat(rest - ',"l":""'.length)]]);
      expect(JSON.stringify(metadata).length).toBe(METADATA_BYTES_MAX);
      const template = await publishedTemplate(tenant, LONGEST_SUBJECT);
      const addresses = { from: LONGEST_FROM, to: LONGEST_TO };
      const { json: sent } = await tenant.send(newKey(), {
        ...addresses,
        // The relay of this test takes no address as long as this.
        scheduled_at: new Date(Date.now() + 3_600_000).toISOString(),
        ...template,
        metadata,
        tags: LONGEST_TAGS,
      });
      const id = sent.id as string;
      await receivedEvent("email.scheduled", id);
      const reply = "\u0001".repeat(REPLY_CHARACTERS_MAX);
      await world.service.addEmailEvents(id, {
        type: "EmailBounced",
        data: { attempt: 1, reason: "recipient_address_rejected", code: 550, enhancedCode: "5.1.1", reply },
      });
      const { data } = await receivedEvent("email.bounced", id);
      expect(data).toMatchObject({ ...template, ...addresses, reply, metadata, tags: LONGEST_TAGS });
      // Only where the whole subject does not fit is it cut.
      expect(data.subject).toMatch(/^😀{100,997}…$/u);
      expect((await receivedEvent("email.scheduled", id)).data.subject).toBe(LONGEST_SUBJECT);
      const plainCalls = () => world.receiver.calls.filter(({ path }) => path === "/plain-size");
      await until(() => plainCalls().length === calls().length, "the same at the other endpoint");
      const sizes = [...calls(), ...plainCalls()].map(({ body }) => Buffer.byteLength(body));
      expect(Math.max(...sizes)).toBeGreaterThan(
        METADATA_BYTES_MAX + Buffer.byteLength(JSON.stringify(LONGEST_TAGS)) + 6 * REPLY_CHARACTERS_MAX,
      );
      expect(Math.max(...sizes)).toBeLessThan(PAYLOAD_BYTES_MAX);
    },
    TEST_MS_MAX,
  );
});

/** Beside no other service: on a shared log that one would deliver the message. */
describe.each(await testStores())("webhook events on $name without a relay", (store) => {
  test(
    "is the end of a message that was never tried",
    async () => {
      const shortLifetime = await startWorld(store, 1, { DELIVERY_LIFETIME_MS: "1000" });
      try {
        const { tenant, calls, receivedEvent } = await subscriber(shortLifetime, "life");
        const id = await accept(tenant);
        expect((await receivedEvent("email.failed", id)).data).toMatchObject({
          attempt: 0,
          reason: "expired",
          code: null,
        });
        for (const { headers, body } of calls()) {
          const { type } = JSON.parse(body) as WebhookEvent;
          expect(webhookFault(type, { headers: new Headers(headers), text: body })).toBeNull();
        }
        expect((await tenant.call("GET", `/api/v1/emails/${id}`)).json.status).toBe("failed");
      } finally {
        await shortLifetime.remove();
      }
    },
    TEST_MS_MAX,
  );
});

describe("the check of webhook events", () => {
  const headers = new Headers({
    "webhook-id": "0192f8a1-7c1e-7b6e-9d55-0f3f4d1c2b3a",
    "webhook-timestamp": "1893456000",
    "webhook-signature": `v1,${"A".repeat(43)}=`,
  });
  const data = {
    id: "0192f8a1-7c1e-7b6e-9d55-0f3f4d1c2b3a",
    object: "webhook_endpoint",
    url: null,
    sequence: 3,
  };
  const validEvent = { type: "webhook.test", version: 1, timestamp: "2030-01-01T00:00:00.000Z", data };

  test.each<[string, object, RegExp | null]>([
    ["passes what is documented", validEvent, null],
    ["finds a member too many", { ...validEvent, data: { ...data, secret: "x" } }, /additional/],
    ["finds a member too few", { ...validEvent, version: undefined }, /required/],
    ["finds another version", { ...validEvent, version: 2 }, /constant/],
    ["finds another type's payload", { ...validEvent, type: "email.sent" }, /constant/],
  ])("%s", (_, body, fault) => {
    const found = webhookFault("webhook.test", { headers, text: JSON.stringify(body) });
    if (fault === null) expect(found).toBeNull();
    else expect(found).toMatch(fault);
  });
});
