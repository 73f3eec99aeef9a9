import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { emailOf } from "../../support/mail/sentEmail.ts";
import type { SinkAnswer } from "../../support/mail/smtpSink.ts";
import { serviceWithRelay } from "../../support/serviceWithRelay.ts";
import { sharedService } from "../../support/sharedService.ts";
import {
  MAILGUN_KEY,
  mailgunCall,
  mailgunToken,
  RESEND_SECRET,
  resendCall,
  SENDGRID_KEYS,
  sendgridCall,
  sendgridKeys,
} from "../../support/signedReports.ts";
import { sqliteStore } from "../../support/stores/stores.ts";
import { message, newKey, type Tenant } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const OTHER_RESEND_SECRET = "whsec_5WbX5kEWLlfzsGNjH64I8lOOqUB6e8FH";
const OTHER_MAILGUN_KEY = "fedcba9876543210fedcba9876543210";
const OTHER_SENDGRID_KEYS = sendgridKeys();
const HOUR_S = 3_600;

/** What the relay says to the final dot; its own words unless set. */
let relayReply: SinkAnswer;

const fixture = serviceWithRelay(sqliteStore, {
  relay: { final: () => relayReply },
  query: "?provider=mailgun&return_path=off",
  env: {
    RESEND_WEBHOOK_SECRET: `${OTHER_RESEND_SECRET}, ${RESEND_SECRET}`,
    MAILGUN_WEBHOOK_SIGNING_KEY: MAILGUN_KEY,
    SENDGRID_VERIFICATION_KEY: `-----BEGIN PUBLIC KEY-----\n${OTHER_SENDGRID_KEYS.shown}\n-----END PUBLIC KEY-----\n, ${SENDGRID_KEYS.shown}`,
    METRICS_PORT: "0",
  },
});

/** A message that the relay has taken, with this answer. */
async function sent(to: string, reply?: SinkAnswer, headers?: object): Promise<string> {
  relayReply = reply;
  const { json } = await fixture.tenant.send(newKey(), message({ to, ...(headers && { headers }) }));
  await until(
    async () => (await emailOf(fixture.tenant, json.id)).status === "sent",
    "the message to be sent",
  );
  relayReply = undefined;
  return json.id;
}

function rawOf(to: string): string {
  return fixture.sink.record.messages.find((one) => one.to.includes(to))?.raw.toString() ?? "";
}

const anybody = () => `${crypto.randomUUID()}@example.net`;

/** The status of the message, the reason of a bounce, and whether the address is suppressed. */
type Ends = readonly [status: string, reason?: string | null, suppressed?: "suppressed"];

type Call = ReturnType<typeof resendCall | typeof mailgunCall | typeof sendgridCall>;
type Provider = "resend" | "mailgun" | "sendgrid";

function call(provider: Provider, signed: Call, query = "", tenant = fixture.tenant) {
  return tenant.call("POST", `/feedback/${provider}/${tenant.workspaceId}${query}`, signed);
}

/** Each call is refused in words that have these in them. */
async function expectRefused(provider: Provider, refusals: readonly (readonly [string, Call])[]) {
  for (const [words, signed] of refusals) {
    const { json } = await call(provider, signed);
    expect(json).toMatchObject({
      status: 400,
      code: "INVALID_REQUEST",
      detail: expect.stringContaining(words),
    });
  }
}

async function suppressionOf(address: string, tenant: Tenant = fixture.tenant): Promise<string | null> {
  const { status, json } = await tenant.call("GET", `/api/v1/suppressions/${address}`);
  return status === 200 ? json.reason : null;
}

async function unmatched(source: string): Promise<number> {
  const text = await (await fetch(new URL("/metrics", fixture.service.app.app.metrics ?? "none:"))).text();
  const name = `postledger_feedback_unmatched_total{source="${source}"} `;
  return Number(
    text
      .split("\n")
      .find((line) => line.startsWith(name))
      ?.slice(name.length) ?? 0,
  );
}

/** An integer that no program holds exactly; nobody reads it. */
const UNREAD_NUMBER = 2 ** 62;

/** An event as Resend's description of its webhooks has it. */
function resendEvent(type: string, data: object) {
  return {
    type,
    created_at: "2026-02-22T23:41:12.126Z",
    data: {
      created_at: "2026-02-22T23:41:11.894719+00:00",
      email_id: crypto.randomUUID(),
      message_id: "<0100019c-1111-000000@email.amazonses.com>",
      from: "Shop <sender@example.com>",
      subject: "Sending this example",
      tags: { category: "confirm_email" },
      broadcast_id: UNREAD_NUMBER,
      ...data,
    },
  };
}

const NO_SUCH_USER = {
  message: "The recipient's email provider sent a hard bounce message.",
  subType: "General",
  type: "Permanent",
  diagnosticCode: ["smtp; 550 5.1.1 user unknown"],
};

describe("webhook calls of Resend", () => {
  /** Sends a message that Resend calls `relayId`, and has Resend report on it. */
  async function reported(type: string, facts: object, to = anybody()) {
    const email_id = crypto.randomUUID();
    const id = await sent(to, { code: 250, text: email_id });
    const { status } = await call("resend", resendCall(resendEvent(type, { email_id, to: [to], ...facts })));
    return { id, to, status, email: await emailOf(fixture.tenant, id) };
  }

  test.each<[string, string, object, Ends]>([
    ["a delivery", "email.delivered", {}, ["delivered"]],
    ["a complaint", "email.complained", {}, ["complained", null, "suppressed"]],
    [
      "a hard bounce",
      "email.bounced",
      { bounce: NO_SUCH_USER },
      ["bounced", "recipient_address_rejected", "suppressed"],
    ],
    [
      "a hard bounce without the server's answer",
      "email.bounced",
      { bounce: { type: "Permanent", subType: "NoEmail", message: "…" } },
      ["bounced", "recipient_address_rejected", "suppressed"],
    ],
    [
      "a permanent bounce for policy",
      "email.bounced",
      { bounce: { ...NO_SUCH_USER, diagnosticCode: ["smtp; 554 5.7.1 blocked using a blocklist"] } },
      ["bounced", "policy_rejected"],
    ],
    [
      "a soft bounce",
      "email.bounced",
      {
        bounce: { type: "Transient", subType: "MailboxFull", diagnosticCode: ["smtp; 552 5.2.2 over quota"] },
      },
      ["bounced", "mailbox_full"],
    ],
    [
      "a transient bounce, whatever the server's answer says of the address",
      "email.bounced",
      { bounce: { ...NO_SUCH_USER, type: "Transient" } },
      ["bounced", "recipient_refused"],
    ],
    [
      "a full mailbox without the server's answer",
      "email.bounced",
      { bounce: { type: "Transient", subType: "MailboxFull", message: "…" } },
      ["bounced", "recipient_refused"],
    ],
    [
      "a person out of office",
      "email.bounced",
      { bounce: { type: "Transient", subType: "General", message: "…" } },
      ["sent"],
    ],
    [
      "a bounce that Resend could not tell the kind of",
      "email.bounced",
      { bounce: { type: "Undetermined", subType: "Undetermined", diagnosticCode: [] } },
      ["bounced", "recipient_refused"],
    ],
    [
      "an address that Resend suppresses, in its older form",
      "email.bounced",
      { bounce: { ...NO_SUCH_USER, subType: "Suppressed" } },
      ["bounced", "relay_suppressed"],
    ],
    [
      "an address that Resend suppresses",
      "email.suppressed",
      { suppressed: { type: "OnAccountSuppressionList", reason: "previous_bounce", diagnosticCode: [] } },
      ["bounced", "relay_suppressed"],
    ],
    [
      "a message that Resend did not send",
      "email.failed",
      { failed: { reason: "reached_daily_quota" } },
      ["bounced", "relay_refused"],
    ],
    ["a message that is still tried", "email.delivery_delayed", {}, ["sent"]],
    ["a message that Resend has sent", "email.sent", {}, ["sent"]],
    ["an opened message", "email.opened", {}, ["sent"]],
    ["a click", "email.clicked", { click: { link: "https://example.com" } }, ["sent"]],
    ["an event that nobody knows yet", "email.teleported", {}, ["sent"]],
  ])("%s", async (_, type, facts, [status, reason, suppressed]) => {
    const answer = await reported(type, facts);
    expect(answer.status).toBe(204);
    expect(answer.email.status).toBe(status);
    expect((await suppressionOf(answer.to)) !== null).toBe(suppressed !== undefined);
    const last = answer.email.timeline.at(-1);
    if (status !== "sent") expect(last).toMatchObject({ source: "resend", ...(reason && { reason }) });
  });

  test("names the message by its Message-ID where Resend keeps ours, whatever Resend answered", async () => {
    const to = anybody();
    const id = await sent(to);
    const message_id = /^Message-ID: (.+)\r$/im.exec(rawOf(to))?.[1];
    expect(message_id).toContain(id);
    expect((await emailOf(fixture.tenant, id)).message_id).toBe(message_id);
    const event = resendEvent("email.delivered", { message_id, to: [to] });
    expect((await call("resend", resendCall(event))).status).toBe(204);
    expect((await emailOf(fixture.tenant, id)).status).toBe("delivered");
  });

  test("a Message-ID that only looks like ours does not hide the id of Resend's answer", async () => {
    const message_id = `<${crypto.randomUUID()}@example.com>`;
    expect((await reported("email.delivered", { message_id })).email.status).toBe("delivered");
  });

  test("a repeat changes nothing", async () => {
    const to = anybody();
    const id = await sent(to);
    const event = resendEvent("email.bounced", { message_id: `<${id}@a>`, to: [to], bounce: NO_SUCH_USER });
    const once = resendCall(event);
    expect((await call("resend", once)).status).toBe(204);
    const { timeline } = await emailOf(fixture.tenant, id);
    for (const again of [once, resendCall(event)]) expect((await call("resend", again)).status).toBe(204);
    expect((await emailOf(fixture.tenant, id)).timeline).toEqual(timeline);
  });

  test("is taken with each of the secrets, and refused with another, when it is old, or when it was changed", async () => {
    const event = resendEvent("email.opened", { to: [anybody()] });
    const good = resendCall(event);
    for (const secret of [RESEND_SECRET, OTHER_RESEND_SECRET])
      expect((await call("resend", resendCall(event, { secret, ageS: 290 }))).status).toBe(204);
    const refusals: [string, Call][] = [
      ["not signed", resendCall(event, { secret: `whsec_${btoa("another secret of 24 b.")}` })],
      ["not signed", { ...good, body: good.body.replace("opened", "bounced") }],
      ["not signed", { ...good, headers: { ...good.headers, "svix-id": "msg_other" } }],
      ["not signed", { ...good, headers: { ...good.headers, "svix-signature": "v1," } }],
      [
        "not signed",
        { ...good, headers: { authorization: null, "content-type": "application/json" } as never },
      ],
      ["clock", resendCall(event, { ageS: 310 })],
      ["clock", resendCall(event, { ageS: -310 })],
    ];
    await expectRefused("resend", refusals);
    // While Svix changes a secret it signs with both.
    const both = { ...good.headers, "svix-signature": `v1,AAAA ${good.headers["svix-signature"]}` };
    expect((await call("resend", { ...good, headers: both })).status).toBe(204);
  });

  test("is about messages of the workspace in its path only, and counted if it matches none", async () => {
    const to = anybody();
    const id = await sent(to, { code: 250, text: "0102018f3c2d4e5f-7a8b9c0d" });
    const other = await fixture.service.tenant();
    const before = await unmatched("resend");
    const named = { message_id: `<${id}@example.com>`, email_id: "0102018f3c2d4e5f-7a8b9c0d", to: [to] };
    for (const event of [
      resendEvent("email.complained", named),
      resendEvent("email.complained", { ...named, message_id: undefined }),
    ])
      expect((await call("resend", resendCall(event), "", other)).status).toBe(204);
    expect((await call("resend", resendCall(resendEvent("email.opened", {})), "", other)).status).toBe(204);
    expect(await unmatched("resend")).toBe(before + 2);
    expect((await emailOf(fixture.tenant, id)).status).toBe("sent");
    for (const nobody of [crypto.randomUUID(), "shop", "%00"]) {
      const path = `/feedback/resend/${nobody}`;
      const answer = await other.call("POST", path, resendCall(resendEvent("email.complained", named)));
      expect(answer.json).toMatchObject({ status: 404, code: "NOT_FOUND" });
    }
  });
});

/** An event as Mailgun's documentation has it. */
function mailgunEvent(event: string, facts: object) {
  return {
    event,
    id: "hK7mQVt1QtqRiOfQXta4sw",
    timestamp: 1529692199.626182,
    "log-level": "info",
    envelope: { transport: "smtp", sender: "sender@example.com", "sending-ip": "192.0.2.1" },
    flags: { "is-routed": false, "is-authenticated": true, "is-test-mode": false },
    message: { headers: { "message-id": "20180622182958.1.48906CB188F1A454@example.com" }, size: 586 },
    "recipient-domain": "example.net",
    campaigns: [UNREAD_NUMBER],
    tags: [],
    "user-variables": [],
    ...facts,
  };
}

const PERMANENT = { severity: "permanent", reason: "bounce" };

describe("webhook calls of Mailgun", () => {
  /** A message, and the variables that Mailgun would give back. */
  async function sentBy(to: string, headers?: object) {
    const id = await sent(to, undefined, headers);
    const fields = [...rawOf(to).matchAll(/^X-Mailgun-Variables: (\{.*\})\r$/gim)].map(
      ([, json = ""]) => json,
    );
    return { id, variables: Object.assign({}, ...fields.map((json) => JSON.parse(json))) as object, fields };
  }

  test.each<[string, string, object, Ends]>([
    [
      "a delivery",
      "delivered",
      { "delivery-status": { code: 250, message: "OK", "attempt-no": 1 } },
      ["delivered"],
    ],
    ["a complaint", "complained", {}, ["complained", null, "suppressed"]],
    [
      "a hard bounce",
      "failed",
      {
        ...PERMANENT,
        "delivery-status": {
          code: 550,
          "bounce-type": "hard",
          "enhanced-code": "5.1.1",
          message: "5.1.1 No such user",
        },
      },
      ["bounced", "recipient_address_rejected", "suppressed"],
    ],
    [
      "a hard bounce in words that nobody understands",
      "failed",
      { ...PERMANENT, "delivery-status": { code: 550, "bounce-type": "hard", message: "gibt es nicht" } },
      ["bounced", "recipient_address_rejected", "suppressed"],
    ],
    [
      "a delayed bounce",
      "failed",
      {
        severity: "permanent",
        reason: "generic",
        flags: { "is-delayed-bounce": true },
        "delivery-status": {
          code: 550,
          "bounce-code": "5.1.1",
          message: "smtp; 550-5.1.1 The email account that you tried to reach does not exist.",
        },
      },
      ["bounced", "recipient_address_rejected", "suppressed"],
    ],
    [
      "a soft bounce",
      "failed",
      {
        ...PERMANENT,
        "delivery-status": { code: 552, "bounce-type": "soft", message: "5.2.2 mailbox is full" },
      },
      ["bounced", "mailbox_full"],
    ],
    [
      "a message that was tried for too long",
      "failed",
      { severity: "permanent", reason: "old", "delivery-status": { code: 602, message: "Too old" } },
      ["bounced", "recipient_refused"],
    ],
    [
      "an address that Mailgun suppresses",
      "failed",
      {
        severity: "permanent",
        reason: "suppress-bounce",
        "delivery-status": {
          code: 605,
          message: "",
          description: "Not delivering to previously bounced address",
        },
      },
      ["bounced", "relay_suppressed"],
    ],
    [
      "a message that is still tried",
      "failed",
      { severity: "temporary", reason: "generic", "delivery-status": { code: 451, "retry-seconds": 600 } },
      ["sent"],
    ],
    ["an opened message", "opened", {}, ["sent"]],
  ])("%s", async (_, event, facts, [status, reason, suppressed]) => {
    const to = anybody();
    const { id, variables } = await sentBy(to);
    const told = mailgunEvent(event, { recipient: to, "user-variables": variables, ...facts });
    const answer = await call("mailgun", mailgunCall(told));
    expect({ status: answer.status, text: answer.text }).toEqual({ status: 200, text: "" });
    const email = await emailOf(fixture.tenant, id);
    expect(email.status).toBe(status);
    expect((await suppressionOf(to)) !== null).toBe(suppressed !== undefined);
    const last = email.timeline.at(-1);
    if (status !== "sent") expect(last).toMatchObject({ source: "mailgun", ...(reason && { reason }) });
  });

  test("the caller's own variables stand beside ours, if Mailgun can read them", async () => {
    const own = await sentBy(anybody(), { "x-mailgun-variables": '{"order": 7}' });
    expect(own.variables).toEqual({ postledger_id: own.id, order: 7 });
    const free = await sentBy(anybody(), { "X-Mailgun-Variables": "order=7" });
    expect(free.fields).toEqual([`{"postledger_id":"${free.id}"}`]);
  });

  test("names the message by its Message-ID too, and none if it names two", async () => {
    const [one, other] = [await sentBy(anybody()), await sentBy(anybody())];
    const headers = { "message-id": `${one.id}@example.com` };
    const told = (facts: object) => call("mailgun", mailgunCall(mailgunEvent("delivered", facts)));
    const two = { message: { headers }, "user-variables": other.variables };
    expect((await told(two)).status).toBe(200);
    for (const { id } of [one, other]) expect((await emailOf(fixture.tenant, id)).status).toBe("sent");
    expect((await told({ message: { headers } })).status).toBe(200);
    expect((await emailOf(fixture.tenant, one.id)).status).toBe("delivered");
  });

  test("is taken for as long as Mailgun repeats it, and refused when older, forged or changed", async () => {
    const event = mailgunEvent("opened", {});
    for (const ageS of [0, 8.5 * HOUR_S])
      expect((await call("mailgun", mailgunCall(event, { ageS }))).status).toBe(200);
    const good = mailgunCall(event);
    const refusals: [string, Call][] = [
      ["not signed", mailgunCall(event, { secret: OTHER_MAILGUN_KEY })],
      ["not signed", { ...good, body: good.body.replace(/"token":"./, '"token":"x') }],
      ["not signed", { ...good, body: good.body.replace(/"timestamp":"./, '"timestamp":"2') }],
      ["not signed", { ...good, body: JSON.stringify({ "event-data": event }) }],
      ["clock", mailgunCall(event, { ageS: 9.1 * HOUR_S })],
      ["clock", mailgunCall(event, { ageS: -400 })],
    ];
    await expectRefused("mailgun", refusals);
  });

  test("a token signs one body only, however often that comes; what failed may come again", async () => {
    const to = anybody();
    const { id, variables } = await sentBy(to);
    const token = mailgunToken();
    const told = { recipient: to, "user-variables": variables };
    const delivered = mailgunCall(mailgunEvent("delivered", told), { token });
    const elsewhere = `/feedback/mailgun/${crypto.randomUUID()}`;
    expect((await fixture.tenant.call("POST", elsewhere, delivered)).status).toBe(404);
    for (let times = 0; times < 2; times += 1) expect((await call("mailgun", delivered)).status).toBe(200);
    const forged = await call("mailgun", {
      ...delivered,
      body: delivered.body.replace('"delivered"', '"complained"'),
    });
    expect(forged.json).toMatchObject({ status: 400, detail: expect.stringContaining("token") });
    expect((await emailOf(fixture.tenant, id)).status).toBe("delivered");
    expect(await suppressionOf(to)).toBeNull();
  });

  test("the same call counts at each workspace's URL, once", async () => {
    const to = anybody();
    const event = mailgunEvent("complained", { recipient: to });
    const once = mailgunCall(event);
    const query = "?suppress_unmatched=true";
    for (const tenant of [await fixture.service.tenant(), await fixture.service.tenant()]) {
      expect((await call("mailgun", once, query, tenant)).status).toBe(200);
      expect(await suppressionOf(to, tenant)).toBe("complaint");
      await tenant.call("DELETE", `/api/v1/suppressions/${to}`);
      expect((await call("mailgun", once, query, tenant)).status).toBe(200);
      expect(await suppressionOf(to, tenant)).toBeNull();
    }
  });

  test("is counted if it matches no message of the workspace in its path", async () => {
    const { id, variables } = await sentBy(anybody());
    const other = await fixture.service.tenant();
    const before = await unmatched("mailgun");
    const told = mailgunEvent("complained", { "user-variables": variables });
    expect((await call("mailgun", mailgunCall(told), "", other)).status).toBe(200);
    expect((await call("mailgun", mailgunCall(mailgunEvent("clicked", {})), "", other)).status).toBe(200);
    expect(await unmatched("mailgun")).toBe(before + 1);
    expect((await emailOf(fixture.tenant, id)).status).toBe("sent");
  });
});

/** An event as SendGrid's documentation has it. */
function sendgridEvent(event: string, facts: object) {
  return {
    email: "example@example.net",
    timestamp: 1_513_299_569,
    "smtp-id": "<14c5d75ce93.dfd.64b469@ismtpd-555>",
    event,
    category: [UNREAD_NUMBER],
    sg_event_id: "rWVYmVk90MjZJ9iohOBa3w==",
    sg_message_id: "14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0",
    ...facts,
  };
}

describe("webhook calls of SendGrid", () => {
  test("are taken with each of the keys and for as long as SendGrid repeats them, and refused when older, forged or changed", async () => {
    const events = [sendgridEvent("open", {})];
    for (const { privateKey } of [SENDGRID_KEYS, OTHER_SENDGRID_KEYS])
      for (const ageS of [0, 24.5 * HOUR_S])
        expect((await call("sendgrid", sendgridCall(events, { privateKey, ageS }))).status).toBe(204);
    const good = sendgridCall(events);
    const [signature, timestamp] = ["signature", "timestamp"].map(
      (of) => `x-twilio-email-event-webhook-${of}`,
    );
    const withHeader = (name = "", value: string | null = null) =>
      ({ ...good, headers: { ...good.headers, [name]: value } }) as Call;
    const refusals: [string, Call][] = [
      ["not signed", sendgridCall(events, sendgridKeys())],
      ["not signed", { ...good, body: good.body.replace("open", "bounce") }],
      ["not signed", { ...good, body: good.body.trimEnd() }],
      ["not signed", withHeader(timestamp, String(Math.floor(Date.now() / 1_000) - 60))],
      ["not signed", withHeader(timestamp, "soon")],
      ["not signed", withHeader(timestamp)],
      ["not signed", withHeader(signature)],
      ["not signed", withHeader(signature, "AAAA")],
      ["not signed", withHeader(signature, "\u00ff".repeat(500))],
      ["clock", sendgridCall(events, { ageS: 25.1 * HOUR_S })],
      ["clock", sendgridCall(events, { ageS: -400 })],
    ];
    await expectRefused("sendgrid", refusals);
  });

  test("have an array of events, and a workspace", async () => {
    for (const odd of [{}, null, "delivered", '[{"event":']) {
      const { json } = await call("sendgrid", sendgridCall(odd));
      expect(json).toMatchObject({ status: 400, detail: expect.stringContaining("not a JSON array") });
    }
    expect((await call("sendgrid", sendgridCall([]))).status).toBe(204);
    const nowhere = `/feedback/sendgrid/${crypto.randomUUID()}`;
    expect((await fixture.tenant.call("POST", nowhere, sendgridCall([]))).status).toBe(404);
  });

  test("are about messages of the workspace in their path only; what matches none is counted, once for each call", async () => {
    const to = anybody();
    const id = await sent(to);
    const other = await fixture.service.tenant();
    const before = await unmatched("sendgrid");
    const events = ["spamreport", "delivered", "click"].map((event) =>
      sendgridEvent(event, { email: to, postledger_id: id }),
    );
    const once = sendgridCall(events);
    for (let times = 0; times < 2; times += 1)
      expect((await call("sendgrid", once, "", other)).status).toBe(204);
    expect(await unmatched("sendgrid")).toBe(before + 2);
    expect((await emailOf(fixture.tenant, id)).status).toBe("sent");
  });

  test("suppress no address again that was released since, if they come again, signed anew or not", async () => {
    const to = anybody();
    const events = [sendgridEvent("spamreport", { email: to })];
    for (const tenant of [await fixture.service.tenant(), await fixture.service.tenant()]) {
      for (const [ageS, reason] of [
        [60, "complaint"],
        [60, null],
        [0, null],
      ] as const) {
        const answer = await call(
          "sendgrid",
          sendgridCall(events, { ageS }),
          "?suppress_unmatched=true",
          tenant,
        );
        expect(answer.status).toBe(204);
        expect(await suppressionOf(to, tenant)).toBe(reason);
        await tenant.call("DELETE", `/api/v1/suppressions/${to}`);
      }
    }
  });
});

describe("reports about mail that was sent past the service", () => {
  const SUPPRESSING = "?suppress_unmatched=true";
  const hard = {
    ...PERMANENT,
    "delivery-status": { code: 550, "bounce-type": "hard", message: "no such user" },
  };
  const full = { ...PERMANENT, "delivery-status": { code: 552, message: "5.2.2 mailbox full" } };
  type Making = (to: string) => Call;

  test.each<[string, Provider, Making, string | null]>([
    [
      "a hard bounce",
      "resend",
      (to) => resendCall(resendEvent("email.bounced", { to: [to], bounce: NO_SUCH_USER })),
      "bounce",
    ],
    [
      "a hard bounce of a message to two",
      "resend",
      (to) => resendCall(resendEvent("email.bounced", { to: [to, anybody()], bounce: NO_SUCH_USER })),
      null,
    ],
    [
      "a soft bounce",
      "resend",
      (to) => resendCall(resendEvent("email.bounced", { to: [to], bounce: { type: "Transient" } })),
      null,
    ],
    [
      "a complaint",
      "resend",
      (to) => resendCall(resendEvent("email.complained", { to: [`Ana <${to}>`] })),
      "complaint",
    ],
    ["a delivery", "resend", (to) => resendCall(resendEvent("email.delivered", { to: [to] })), null],
    [
      "a hard bounce",
      "mailgun",
      (to) => mailgunCall(mailgunEvent("failed", { recipient: to, ...hard })),
      "bounce",
    ],
    [
      "a soft bounce",
      "mailgun",
      (to) => mailgunCall(mailgunEvent("failed", { recipient: to, ...full })),
      null,
    ],
    [
      "a complaint",
      "mailgun",
      (to) => mailgunCall(mailgunEvent("complained", { recipient: to })),
      "complaint",
    ],
    [
      "a hard bounce",
      "sendgrid",
      (to) => sendgridCall([sendgridEvent("bounce", { email: to, type: "bounce", reason: "550 5.1.1" })]),
      "bounce",
    ],
    [
      "a block",
      "sendgrid",
      (to) => sendgridCall([sendgridEvent("bounce", { email: to, type: "blocked", reason: "550 5.1.1" })]),
      null,
    ],
  ])("%s at %s suppresses as the URL says", async (_, provider, make, reason) => {
    for (const [query, expected] of [
      [SUPPRESSING, reason],
      ["", null],
      ["?suppress_unmatched=false", null],
    ] as const) {
      const to = anybody();
      expect((await call(provider, make(to), query)).status).toBeLessThan(205);
      expect(await suppressionOf(to)).toBe(expected);
    }
  });

  test("a Message-ID in the form of ours is of another program's mail unless it names a message here", async () => {
    const [to, ours] = [anybody(), anybody()];
    const id = await sent(ours);
    const other = await fixture.service.tenant();
    const told = (of: string, recipient: string) =>
      [
        [
          "mailgun",
          mailgunCall(mailgunEvent("complained", { recipient, message: { headers: { "message-id": of } } })),
        ],
        ["resend", resendCall(resendEvent("email.complained", { to: [recipient], message_id: `<${of}>` }))],
      ] as const;
    for (const [provider, signed] of told(`${id}@example.com`, ours)) {
      expect((await call(provider, signed, SUPPRESSING, other)).status).toBeLessThan(205);
      expect(await suppressionOf(ours, other)).toBeNull();
    }
    for (const [provider, signed] of told(`${crypto.randomUUID()}@example.com`, to)) {
      const tenant = await fixture.service.tenant();
      expect((await call(provider, signed, SUPPRESSING, tenant)).status).toBeLessThan(205);
      expect(await suppressionOf(to, tenant)).toBe("complaint");
    }
  });

  test("suppresses nobody whom a message of another workspace is about", async () => {
    const to = anybody();
    const id = await sent(to);
    const other = await fixture.service.tenant();
    const told = mailgunEvent("complained", { recipient: to, "user-variables": { postledger_id: id } });
    expect((await call("mailgun", mailgunCall(told), SUPPRESSING, other)).status).toBe(200);
    expect(await suppressionOf(to, other)).toBeNull();
  });
});

describe("whatever is posted", () => {
  const signedBy = (timestamp: unknown) =>
    JSON.stringify({ signature: { timestamp, token: mailgunToken(), signature: "00" } });

  test("without the settings there is nothing", async () => {
    const service = await sharedService(sqliteStore);
    const tenant = await service.tenant();
    const calls = { resend: resendCall({}), mailgun: mailgunCall({}), sendgrid: sendgridCall([]) } as const;
    for (const [provider, signed] of Object.entries(calls)) {
      const answer = await call(provider as Provider, signed, "", tenant);
      expect(answer.json).toMatchObject({
        status: 404,
        detail: expect.stringMatching(/_(?:SECRET|KEY) is not set$/),
      });
    }
    await service.remove();
  });

  test("faults are refused by their name", async () => {
    const { call: post, workspaceId } = fixture.tenant;
    const opened = resendCall(resendEvent("email.opened", {}));
    expect((await call("resend", opened, "?suppress_unmatched=yes")).json.errors).toMatchObject([
      { pointer: "/suppress_unmatched" },
    ]);
    expect((await call("resend", opened, "?dry_run=1")).json.errors).toMatchObject([{ pointer: "/dry_run" }]);
    const path = `/feedback/resend/${workspaceId}`;
    const headers = { authorization: null };
    for (const [body, status] of [
      ["x".repeat(262_145), 413],
      ["[".repeat(260_000), 400],
      [new Uint8Array([0x7b, 0xff, 0x7d]), 400],
      ["", 400],
    ] as const)
      expect((await post("POST", path, { headers, body })).status).toBe(status);
    for (const [provider, bytesMax] of [
      ["mailgun", 262_144],
      ["sendgrid", 1_000_000],
    ] as const) {
      const tooLong = { headers, body: "x".repeat(bytesMax + 1) };
      expect((await post("POST", `/feedback/${provider}/${workspaceId}`, tooLong)).json).toMatchObject({
        status: 413,
        detail: expect.stringContaining(`${bytesMax.toLocaleString("en")} bytes`),
      });
    }
    const odd = signedBy({ toString: 1, valueOf: 1 });
    expect((await call("mailgun", { ...mailgunCall({}), body: odd })).status).toBe(400);
    const gzip = { headers: { ...headers, "content-encoding": "gzip" }, body: "{}" };
    expect((await post("POST", path, gzip)).status).toBe(400);
  });

  const members = [
    ...["type", "data", "to", "bounce", "diagnosticCode", "subType", "message_id", "email_id", "failed"],
    ...[
      "event",
      "severity",
      "reason",
      "delivery-status",
      "message",
      "headers",
      "message-id",
      "user-variables",
    ],
    ...["recipient", "code", "__proto__", "toString", "valueOf"],
    ...["email", "postledger_id", "smtp-id", "status", "bounce_classification"],
  ];
  const leaf = fc.oneof(
    fc.constantFrom(
      "email.bounced",
      "email.failed",
      "failed",
      "permanent",
      "Permanent",
      "suppress-",
      "\ud800",
    ),
    fc.string(),
    fc.double(),
    fc.boolean(),
    fc.constant(null),
  );
  const { any } = fc.letrec((tie) => ({
    any: fc.oneof(
      { maxDepth: 5 },
      leaf,
      fc.array(tie("any"), { maxLength: 3 }),
      fc.dictionary(fc.constantFrom(...members), tie("any"), { maxKeys: 6 }),
    ),
  }));

  test("what is signed is never answered with a 5xx (property)", async () => {
    const query = "?suppress_unmatched=true";
    const types = fc.constantFrom("email.bounced", "email.failed", "email.suppressed", "email.complained");
    const event = fc.oneof(
      any,
      fc.record({ type: types, data: any, event: fc.constant("failed") }),
      fc.json(),
    );
    const bounced = sendgridEvent("bounce", { type: "bounce" });
    await fc.assert(
      fc.asyncProperty(event, fc.boolean(), async (value, isText) => {
        const text = isText ? String(JSON.stringify(value)).slice(1) : JSON.stringify(value);
        for (const answer of [
          await call("resend", resendCall(text), query),
          await call("mailgun", mailgunCall(value), query),
          await call("mailgun", { ...mailgunCall(value), body: text }, query),
          await call("mailgun", { ...mailgunCall({}), body: JSON.stringify({ signature: value }) }, query),
          await call("mailgun", { ...mailgunCall({}), body: signedBy(value) }, query),
          await call("sendgrid", sendgridCall(text), query),
          await call("sendgrid", sendgridCall([value, { ...bounced, ...Object(value) }]), query),
        ])
          expect([200, 204, 400]).toContain(answer.status);
      }),
      { numRuns: 60 },
    );
  });
});
