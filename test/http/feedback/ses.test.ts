import { afterAll, beforeAll, describe, expect, spyOn, test } from "bun:test";
import { createSign } from "node:crypto";
import { snsEndpoint } from "../../../src/adapters/https/snsEndpoint.ts";
import {
  type SesOutcome,
  sesNotifications,
} from "../../../src/commands/email/feedback/receiveSesNotification.ts";
import { snsSignedText } from "../../../src/kernel/crypto/snsSignature.ts";
import { newRequestId } from "../../../src/kernel/ids.ts";
import { deliveredId, emailOf } from "../../support/mail/sentEmail.ts";
import { type Sink, startSmtpSink } from "../../support/mail/smtpSink.ts";
import { certificateAuthority } from "../../support/stores/certificates.ts";
import { type TestStore, testStores } from "../../support/stores/stores.ts";
import { message, newKey, startService, type Tenant, type TestService } from "../../support/tenants.ts";
import { until } from "../../support/until.ts";

const TOPIC = "arn:aws:sns:eu-west-1:123456789012:ses-events";
const HOST = "https://sns.eu-west-1.amazonaws.com";
const CERTIFICATE_URL = `${HOST}/SimpleNotificationService-0a1b2c3d.pem`;
const CONFIRM_URL = `${HOST}/?Action=ConfirmSubscription&TopicArn=${TOPIC}&Token=abc`;

const signer = certificateAuthority("Test SNS").issue("sns.amazonaws.com", ["sns.amazonaws.com"]);
const otherIssuer = certificateAuthority("Somebody").issue("sns.amazonaws.com", ["sns.amazonaws.com"]);

function signed(facts: Readonly<Record<string, string>>, { key = signer.key, version = "2" } = {}): string {
  const notification = {
    Type: "Notification",
    MessageId: crypto.randomUUID(),
    TopicArn: TOPIC,
    Timestamp: new Date().toISOString(),
    SigningCertURL: CERTIFICATE_URL,
    ...facts,
  };
  const algorithm = version === "1" ? "RSA-SHA1" : "RSA-SHA256";
  const Signature = createSign(algorithm).update(snsSignedText(notification)).sign(key, "base64");
  return JSON.stringify({ ...notification, SignatureVersion: version, Signature });
}

describe.each(await testStores())("notifications of Amazon SES on $name", (store: TestStore) => {
  let sink: Sink;
  let service: TestService;
  let tenant: Tenant;
  const requestedUrls: string[] = [];
  let unmatched = 0;
  const onUnmatched = () => {
    unmatched += 1;
  };
  let isReachable = true;
  let handle: (text: string) => Promise<SesOutcome>;
  beforeAll(async () => {
    sink = await startSmtpSink();
    const relay = `smtp://127.0.0.1:${sink.port}?provider=ses&configuration_set=shop`;
    service = await startService(store, { DELIVERY: "on", SMTP_URL: relay, SES_TOPIC_ARNS: TOPIC });
    tenant = await service.tenant();
    handle = newHandler();
  });
  afterAll(async () => {
    await service.remove();
    await sink.close();
  });

  /** What the service's own path does, with Amazon in our hands. */
  function newHandler(): (text: string) => Promise<SesOutcome> {
    const sns = {
      async get(url: string) {
        requestedUrls.push(url);
        if (!isReachable) return null;
        return url === CERTIFICATE_URL ? signer.certificate : "<ConfirmSubscriptionResponse/>";
      },
    };
    const { store: log, content, keys } = service.log;
    const shared = {
      store: log,
      content,
      keys,
      bounceDomains: true,
      topicArns: new Set([TOPIC]),
      sns,
      onUnmatched,
    };
    const handler = sesNotifications(shared);
    return (text) => handler(text, { at: Date.now(), actor: "amazon-sns", correlationId: newRequestId() });
  }

  const sent = (to: string) => deliveredId(tenant, to);

  function event(id: string, facts: object): string {
    return JSON.stringify({ mail: { messageId: "0102", tags: { postledger_id: [id] } }, ...facts });
  }

  const hardBounce = (to: string) => ({
    eventType: "Bounce",
    bounce: {
      bounceType: "Permanent",
      bounceSubType: "General",
      bouncedRecipients: [
        {
          emailAddress: to,
          action: "failed",
          status: "5.1.1",
          diagnosticCode: `smtp; 550 5.1.1 <${to}> unknown`,
        },
      ],
    },
  });

  test("the message carries its id as a tag, and the configuration set", async () => {
    const id = await sent("tagged@example.net");
    const raw =
      sink.record.messages.find(({ to }) => to.includes("tagged@example.net"))?.raw.toString() ?? "";
    expect(raw).toContain("X-SES-CONFIGURATION-SET: shop\r\n");
    expect(raw).toContain(`X-SES-MESSAGE-TAGS: postledger_id=${id}\r\n`);
  });

  test("tags of the caller's own stand beside it; what is no tag goes nowhere", async () => {
    const rawOf = async (to: string, headers: object) => {
      const { json } = await tenant.send(newKey(), message({ to, headers }));
      await until(async () => (await emailOf(tenant, json.id)).status === "sent", "the message to be sent");
      const raw = sink.record.messages.find((one) => one.to.includes(to))?.raw.toString() ?? "";
      const fields = raw.split("\r\n\r\n", 1)[0]?.split("\r\n") ?? [];
      return { id: json.id, fields: fields.filter((line) => /^x-ses-/i.test(line)) };
    };
    const own = await rawOf("own@example.net", { "x-ses-message-tags": "campaign=welcome, a=b" });
    expect(own.fields).toEqual([
      "X-SES-CONFIGURATION-SET: shop",
      `X-SES-MESSAGE-TAGS: postledger_id=${own.id}, campaign=welcome, a=b`,
    ]);
    const free = await rawOf("free@example.net", { "X-SES-Message-Tags": 'campaign="welcome"' });
    expect(free.fields).toEqual([
      "X-SES-CONFIGURATION-SET: shop",
      `X-SES-MESSAGE-TAGS: postledger_id=${free.id}`,
    ]);
  });

  test("an event that names two messages is about neither", async () => {
    const [own, others] = [await sent("mine@example.net"), await sent("yours@example.net")];
    const bounce = hardBounce("yours@example.net");
    const headers = [{ name: "X-Postledger-Id", value: own }];
    for (const mail of [
      { tags: { postledger_id: [others] }, headers },
      { tags: { postledger_id: [others, own] } },
      { tags: { postledger_id: [others] }, commonHeaders: { messageId: `<${own}@example.com>` } },
    ])
      expect(await handle(signed({ Message: JSON.stringify({ mail, ...bounce }) }))).toBe("taken");
    for (const id of [own, others]) expect((await emailOf(tenant, id)).status).toBe("sent");
  });

  test("a report about a message that the service does not know is counted, any other is not", async () => {
    const own = await sent("own-report@example.net");
    unmatched = 0;
    for (const [id, count] of [
      [own, 0],
      [crypto.randomUUID(), 1],
      ["", 2],
    ] as const) {
      expect(await handle(signed({ Message: event(id, { eventType: "Delivery" }) }))).toBe("taken");
      expect(unmatched).toBe(count);
    }
    expect(await handle(signed({ Message: event("", { eventType: "Open" }) }))).toBe("taken");
    expect(unmatched).toBe(2);
  });

  test("a signed bounce is recorded, and its repeat changes nothing", async () => {
    const to = "gone@example.net";
    const id = await sent(to);
    const text = signed({ Message: event(id, hardBounce(to)) });
    expect(await handle(text)).toBe("taken");
    const email = await emailOf(tenant, id);
    expect(email.timeline.at(-1)).toMatchObject({
      type: "bounced",
      source: "ses",
      reply: "550 5.1.1 <recipient> unknown",
    });
    expect((await tenant.call("GET", `/api/v1/suppressions/${to}`)).status).toBe(200);
    expect(await handle(text)).toBe("taken");
    expect(await handle(signed({ Message: event(id, hardBounce(to)) }, { version: "1" }))).toBe("taken");
    expect((await emailOf(tenant, id)).timeline).toHaveLength(email.timeline.length);
  });

  test("out of office changes nothing, a complaint suppresses", async () => {
    const to = "annoyed@example.net";
    const id = await sent(to);
    const bounce = {
      bounceType: "Transient",
      bounceSubType: "General",
      bouncedRecipients: [{ emailAddress: to }],
    };
    expect(await handle(signed({ Message: event(id, { eventType: "Bounce", bounce }) }))).toBe("taken");
    expect((await emailOf(tenant, id)).status).toBe("sent");
    const complaint = { complaintFeedbackType: "abuse" };
    expect(await handle(signed({ Message: event(id, { eventType: "Complaint", complaint }) }))).toBe("taken");
    expect((await emailOf(tenant, id)).status).toBe("complained");
    expect((await tenant.call("GET", `/api/v1/suppressions/${to}`)).json).toMatchObject({
      reason: "complaint",
    });
  });

  test("what Amazon has not signed, or what is not of our topic, changes nothing and confirms nothing", async () => {
    const id = await sent("safe@example.net");
    const Message = event(id, hardBounce("safe@example.net"));
    requestedUrls.length = 0;
    const valid = signed({ Message });
    const changed = (facts: object) => JSON.stringify({ ...JSON.parse(valid), ...facts });
    for (const text of [
      signed({ Message }, { key: otherIssuer.key }),
      changed({ Message: Message.replace("5.1.1", "5.1.2") }),
      changed({ SignatureVersion: "3" }),
      changed({ Signature: "" }),
      changed({ SigningCertURL: "https://evil.example/SimpleNotificationService-0a1b2c3d.pem" }),
      changed({ SigningCertURL: CERTIFICATE_URL.replace("eu-west-1", "us-east-1") }),
      signed({ Message, TopicArn: `${TOPIC}-other` }),
      signed({
        Type: "SubscriptionConfirmation",
        Message,
        SubscribeURL: CONFIRM_URL,
        Token: "t",
        TopicArn: "x",
      }),
      signed({
        Type: "SubscriptionConfirmation",
        Message,
        Token: "t",
        SubscribeURL: "https://evil.example/?Action=ConfirmSubscription",
      }),
      "",
      "null",
      "[]",
      "{}",
    ])
      expect(await handle(text)).toBe("refused");
    expect(requestedUrls.filter((url) => url !== CERTIFICATE_URL)).toEqual([]);
    expect((await emailOf(tenant, id)).status).toBe("sent");
  });

  test("a subscription to our topic is confirmed; what cannot be looked up now comes again", async () => {
    const confirmation = signed({
      Type: "SubscriptionConfirmation",
      Message: "You have chosen to subscribe",
      Token: "abc",
      SubscribeURL: CONFIRM_URL,
    });
    requestedUrls.length = 0;
    expect(await handle(confirmation)).toBe("taken");
    expect(requestedUrls).toContain(CONFIRM_URL);
    expect(await handle(signed({ Message: "Successfully validated SNS topic" }))).toBe("taken");
    isReachable = false;
    expect(await newHandler()(confirmation)).toBe("unavailable");
    isReachable = true;
  });

  test("asks Amazon for few certificates at once, and for each of them once", async () => {
    const { store: log, content, keys } = service.log;
    const requests = new Map<string, PromiseWithResolvers<string | null>>();
    const sns = {
      get(url: string) {
        expect(requests.has(url)).toBe(false);
        requests.set(url, Promise.withResolvers());
        return requests.get(url)?.promise ?? Promise.resolve(null);
      },
    };
    const shared = {
      store: log,
      content,
      keys,
      bounceDomains: true,
      topicArns: new Set([TOPIC]),
      sns,
      onUnmatched,
    };
    const handler = sesNotifications(shared);
    const handleNth = (nth: number) => {
      const SigningCertURL = CERTIFICATE_URL.replace("0a1b2c3d", String(nth));
      const origin = { at: Date.now(), actor: "amazon-sns", correlationId: newRequestId() };
      return handler(signed({ Message: "x", SigningCertURL }), origin);
    };
    const outcomes = Array.from({ length: 100 }, (_, nth) => handleNth(nth % 20));
    await Promise.all(outcomes.filter((_, nth) => nth % 20 >= 5));
    expect(requests.size).toBe(5);
    for (const { resolve } of requests.values()) resolve(null);
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set(["unavailable"]));
  });

  test("requests with ever new certificate URLs do not block what Amazon has signed", async () => {
    const { store: log, content, keys } = service.log;
    let hangs = false;
    const sns = {
      get: () => (hangs ? new Promise<null>(() => {}) : Promise.resolve(signer.certificate)),
    };
    const shared = {
      store: log,
      content,
      keys,
      bounceDomains: true,
      topicArns: new Set([TOPIC]),
      sns,
      onUnmatched,
    };
    const handler = sesNotifications(shared);
    const origin = { at: Date.now(), actor: "amazon-sns", correlationId: newRequestId() };
    const forged = (nth: number) => {
      const SigningCertURL = CERTIFICATE_URL.replace("0a1b2c3d", String(nth));
      return handler(signed({ Message: "x", SigningCertURL }, { key: otherIssuer.key }), origin);
    };
    expect(await handler(signed({ Message: "x" }), origin)).toBe("taken");
    for (let nth = 0; nth < 20; nth += 1) expect(await forged(nth)).toBe("refused");
    hangs = true;
    for (let nth = 20; nth < 40; nth += 1) void forged(nth);
    expect(await handler(signed({ Message: "x" }), origin)).toBe("taken");
  });

  test("what is nested without end is not even parsed", async () => {
    const headers = { authorization: null, "content-type": "text/plain; charset=UTF-8" };
    const answer = await tenant.call("POST", "/feedback/ses", { headers, body: "[".repeat(900_000) });
    expect(answer.json).toMatchObject({ status: 400, detail: expect.stringContaining("nested deeper") });
  });

  test("over HTTP as text/plain, without a key: refused unless signed, and unless a topic is set", async () => {
    const headers = { authorization: null, "content-type": "text/plain; charset=UTF-8" };
    const id = await sent("http@example.net");
    const forged = signed({
      Message: event(id, hardBounce("http@example.net")),
      SigningCertURL: "https://a.example",
    });
    for (const body of [forged, "", "{"]) {
      const answer = await tenant.call("POST", "/feedback/ses", { headers, body });
      expect({ status: answer.status, code: answer.json?.code }).toEqual({
        status: 400,
        code: "INVALID_REQUEST",
      });
    }
    const large = await tenant.call("POST", "/feedback/ses", { headers, body: "x".repeat(1_000_001) });
    expect(large.status).toBe(413);
    expect((await emailOf(tenant, id)).status).toBe("sent");
  });

  test("over HTTP what Amazon has signed is taken", async () => {
    const to = "told@example.net";
    const id = await sent(to);
    // The one certificate that is Amazon's is not to be had here.
    const getCertificate = spyOn(snsEndpoint, "get").mockResolvedValue(signer.certificate);
    try {
      const body = signed({ Message: event(id, hardBounce(to)) });
      const headers = { authorization: null, "content-type": "text/plain; charset=UTF-8" };
      expect((await tenant.call("POST", "/feedback/ses", { headers, body })).status).toBe(204);
    } finally {
      getCertificate.mockRestore();
    }
    expect((await emailOf(tenant, id)).status).toBe("bounced");
  });
});
