import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { readSesEvent } from "../../../src/domain/email/feedback/sesEvent.ts";
import { isSnsCertificateUrl, isSnsUrl, snsSignedText } from "../../../src/kernel/crypto/snsSignature.ts";

const ID = "0d3f7a52-90d5-5d0c-8f5e-3d1b8a3f7c11";
const TAGGED = { tags: { postledger_id: [ID] } };

function bounce(bounceType: string, bounceSubType: string, recipient: object = {}) {
  const bouncedRecipients = [{ emailAddress: "ana@example.net", ...recipient }];
  return { eventType: "Bounce", mail: TAGGED, bounce: { bounceType, bounceSubType, bouncedRecipients } };
}

describe("an event of Amazon SES", () => {
  test.each<[string, unknown, unknown]>([
    ["a delivery", { eventType: "Delivery", mail: TAGGED, delivery: {} }, { kind: "delivered" }],
    [
      "a delivery of an identity's notifications",
      { notificationType: "Delivery", mail: TAGGED },
      { kind: "delivered" },
    ],
    [
      "a permanent bounce with the server's answer",
      bounce("Permanent", "General", {
        action: "failed",
        status: "5.1.1",
        diagnosticCode: "smtp; 550 5.1.1 user unknown",
      }),
      { kind: "bounced", bounce: { kind: "hard", reason: "recipient_address_rejected" } },
    ],
    [
      "a permanent bounce without one",
      bounce("Permanent", "NoEmail"),
      { kind: "bounced", bounce: { kind: "hard", reason: "recipient_address_rejected" } },
    ],
    [
      "a permanent bounce that the server's answer explains by policy",
      bounce("Permanent", "General", {
        action: "failed",
        status: "5.7.1",
        diagnosticCode: "smtp; 550 5.7.1 blocked using a blocklist",
      }),
      { kind: "bounced", bounce: { kind: "policy", reason: "policy_rejected" } },
    ],
    [
      "a message that SES did not try",
      bounce("Permanent", "OnAccountSuppressionList"),
      { kind: "bounced", bounce: { kind: "soft", reason: "relay_suppressed" } },
    ],
    ["a person out of office", bounce("Transient", "General"), null],
    [
      "a full mailbox",
      bounce("Transient", "MailboxFull", {
        action: "failed",
        status: "4.2.2",
        diagnosticCode: "smtp; 452 4.2.2 over quota",
      }),
      { kind: "bounced", bounce: { kind: "soft", reason: "mailbox_full" } },
    ],
    [
      "a transient bounce is never hard",
      bounce("Transient", "General", { action: "failed", diagnosticCode: "smtp; 550 5.1.1 user unknown" }),
      { kind: "bounced", bounce: { kind: "soft", reason: "recipient_refused" } },
    ],
    [
      "a complaint",
      { eventType: "Complaint", mail: TAGGED, complaint: { complaintFeedbackType: "fraud" } },
      { kind: "complained", feedbackType: "fraud" },
    ],
    [
      "a complaint of SES' own list",
      { eventType: "Complaint", mail: TAGGED, complaint: { complaintSubType: "OnAccountSuppressionList" } },
      null,
    ],
    [
      "somebody who wants the mail after all",
      { eventType: "Complaint", mail: TAGGED, complaint: { complaintFeedbackType: "not-spam" } },
      null,
    ],
    ["a delay", { eventType: "DeliveryDelay", mail: TAGGED }, null],
    ["a kind that is not known", { eventType: "Teleported", mail: TAGGED }, null],
  ])("%s", (_, event, report) => {
    const reading = readSesEvent(event);
    expect(reading.emailId).toBe(ID);
    if (report === null) expect(reading.report).toBeNull();
    else expect(reading.report).toMatchObject(report as object);
  });

  test("names the message by its tag, or by its fields if they are included", () => {
    const named = (mail: object) => readSesEvent({ eventType: "Delivery", mail }).emailId;
    expect(named({ headers: [{ name: "X-Postledger-Id", value: ID.toUpperCase() }] })).toBe(ID);
    expect(named({ commonHeaders: { messageId: `<${ID}@shop.example>` } })).toBe(ID);
    expect(named({ commonHeaders: { messageId: "<010001@email.amazonses.com>" } })).toBeNull();
    expect(named({ tags: { postledger_id: ["../../etc"] } })).toBeNull();
  });

  test("is read whatever it is (property)", () => {
    fc.assert(
      fc.property(fc.anything(), fc.constantFrom("Bounce", "Complaint", "Delivery"), (value, eventType) => {
        readSesEvent(value);
        readSesEvent({ eventType, mail: value, bounce: value, complaint: value });
        readSesEvent({
          eventType,
          mail: { tags: value, headers: value },
          bounce: { bouncedRecipients: value },
        });
      }),
    );
  });
});

describe("a URL of Amazon SNS", () => {
  const CERTIFICATE = "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a1b2c.pem";
  test("is Amazon's own host over HTTPS, and its certificate's path", () => {
    expect(isSnsCertificateUrl(CERTIFICATE)).toBe(true);
    expect(
      isSnsCertificateUrl(CERTIFICATE.replace("eu-west-1.amazonaws.com", "cn-north-1.amazonaws.com.cn")),
    ).toBe(true);
    expect(isSnsUrl("https://sns.us-gov-west-1.amazonaws.com/?Action=ConfirmSubscription&Token=x")).toBe(
      true,
    );
  });

  test.each([
    "http://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a1b2c.pem",
    "https://s3.amazonaws.com/SimpleNotificationService-0a1b2c.pem",
    "https://sns.eu-west-1.amazonaws.com.evil.example/SimpleNotificationService-0a1b2c.pem",
    "https://evil.example/sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a1b2c.pem",
    "https://sns.eu-west-1.amazonaws.com@evil.example/SimpleNotificationService-0a1b2c.pem",
    "https://sns.eu-west-1.amazonaws.com:8443/SimpleNotificationService-0a1b2c.pem",
    "https://sns.evil.eu-west-1.amazonaws.com/SimpleNotificationService-0a1b2c.pem",
    "https://sns.eu-west-1.amazonaws.com/SimpleNotificationService-0a1b2c.pem?x=1",
    "https://sns.eu-west-1.amazonaws.com/other.pem",
    "https://sns.eu-west-1.amazonaws.com/x/../SimpleNotificationService-.pem",
    "not a url",
  ])("is not %s", (url) => {
    expect(isSnsCertificateUrl(url)).toBe(false);
  });

  test("the signed text has a line for each member and its value, Subject if there is one, Token if it confirms", () => {
    const facts = { Message: "m", MessageId: "i", Timestamp: "t", TopicArn: "a", Other: "o" };
    expect(snsSignedText({ ...facts, Type: "Notification" })).toBe(
      "Message\nm\nMessageId\ni\nTimestamp\nt\nTopicArn\na\nType\nNotification\n",
    );
    expect(snsSignedText({ ...facts, Subject: "s", Type: "Notification" })).toContain("Subject\ns\n");
    expect(snsSignedText({ ...facts, SubscribeURL: "u", Token: "k", Type: "UnsubscribeConfirmation" })).toBe(
      "Message\nm\nMessageId\ni\nSubscribeURL\nu\nTimestamp\nt\nToken\nk\nTopicArn\na\nType\nUnsubscribeConfirmation\n",
    );
  });
});
