import { describe, expect, test } from "bun:test";
import { readSendgridEvent } from "../../../src/domain/email/feedback/sendgridEvent.ts";

const ID = "0d3f7a52-90d5-5d0c-8f5e-3d1b8a3f7c11";

/** An event as SendGrid's documentation has it. */
function event(name: string, facts: object = {}) {
  return {
    email: "ana@example.net",
    timestamp: 1_513_299_569,
    "smtp-id": "<14c5d75ce93.dfd.64b469@ismtpd-555>",
    event: name,
    category: ["cat facts"],
    sg_event_id: "6g4ZI7SA-xmRDv57GoPIPw==",
    sg_message_id: "14c5d75ce93.dfd.64b469.filter0001.16648.5515E0B88.0",
    postledger_id: ID,
    ...facts,
  };
}

const bounced = (kind: string, reason: string) => ({ kind: "bounced", bounce: { kind, reason } });
const HARD = bounced("hard", "recipient_address_rejected");
const UNKNOWN_WORDS = { type: "bounce", reason: "550 gibt es nicht", status: "5.0.0" };

describe("an event of SendGrid", () => {
  test.each<[string, object, object | null]>([
    ["a delivery", event("delivered", { response: "250 OK" }), { kind: "delivered" }],
    ["a complaint", event("spamreport"), { kind: "complained", feedbackType: "abuse" }],
    ["a bounce", event("bounce", { type: "bounce", reason: "500 unknown recipient", status: "5.0.0" }), HARD],
    [
      "a bounce of an invalid address, in words that nobody understands",
      event("bounce", { ...UNKNOWN_WORDS, bounce_classification: "Invalid Address" }),
      HARD,
    ],
    ["the same of an older webhook", event("bounce", UNKNOWN_WORDS), HARD],
    [
      "a bounce that SendGrid cannot classify",
      event("bounce", { ...UNKNOWN_WORDS, bounce_classification: "Unclassified" }),
      bounced("soft", "recipient_refused"),
    ],
    [
      "a bounce that the server's answer explains by policy",
      event("bounce", { type: "bounce", reason: "550 5.7.1 blocked using a blocklist", status: "5.7.1" }),
      bounced("policy", "policy_rejected"),
    ],
    [
      "a full mailbox",
      event("bounce", {
        type: "bounce",
        bounce_classification: "Mailbox Unavailable",
        reason: "552 5.2.2 mailbox full",
        status: "5.2.2",
      }),
      bounced("soft", "mailbox_full"),
    ],
    [
      "a block, whatever the server's answer says of the address",
      event("bounce", { type: "blocked", reason: "550 5.1.1 user unknown", status: "5.1.1" }),
      bounced("soft", "recipient_refused"),
    ],
    [
      "a domain that nobody knows, without a status",
      event("bounce", {
        type: "blocked",
        bounce_classification: "Unclassified",
        reason: "unable to get mx info: failed to get IPs from PTR record",
      }),
      bounced("soft", "no_route"),
    ],
    [
      "a bounce that does not say which kind it is",
      event("bounce", { reason: "550 gibt es nicht", status: "5.0.0" }),
      bounced("soft", "recipient_refused"),
    ],
    ...["Reputation", "Content", "frequency or volume too high"].map((called): [string, object, object] => [
      `a bounce for ${called}, in words that nobody understands`,
      event("bounce", { ...UNKNOWN_WORDS, bounce_classification: called }),
      bounced("policy", "policy_rejected"),
    ]),
    ...["Bounced Address", "Unsubscribed Address", "spam reporting address ", "Invalid"].map(
      (reason): [string, object, object] => [
        `a message that was dropped: ${reason}`,
        event("dropped", { reason, status: "5.0.0" }),
        bounced("soft", "relay_suppressed"),
      ],
    ),
    [
      "a message that was dropped because of the account",
      event("dropped", { reason: "Recipient List over Package Quota" }),
      bounced("policy", "relay_refused"),
    ],
    ["a message that is still tried", event("deferred", { response: "400 try again later" }), null],
    ...[
      "processed",
      "open",
      "click",
      "unsubscribe",
      "group_unsubscribe",
      "group_resubscribe",
      "teleported",
    ].map((name): [string, object, null] => [name, event(name), null]),
  ])("%s", (_, given, report) => {
    const read = readSendgridEvent(given);
    expect(read).toMatchObject({ emailId: ID, deactivated: "ana@example.net" });
    if (report === null) expect(read.report).toBeNull();
    else expect(read.report).toMatchObject(report);
  });

  test.each([
    ["5.1.1 ana@example.net", "5.1.1"],
    [" 5.1.1 (no such user)", "5.1.1"],
    ["5.1.1.1", undefined],
    ["Ana <ana@example.net>", undefined],
    ["<script>".repeat(100_000), undefined],
    [{}, undefined],
  ])("keeps nothing of a status but its code: %#", (status, enhancedCode) => {
    const { report } = readSendgridEvent(event("bounce", { type: "bounce", status, reason: "unknown" }));
    expect(report).toMatchObject({ kind: "bounced" });
    expect(report?.kind === "bounced" ? report.bounce.enhancedCode : null).toBe(enhancedCode);
  });

  test("of another address says whose it is", () => {
    const { report } = readSendgridEvent(event("bounce", { ...UNKNOWN_WORDS, email: "bo@example.net" }));
    expect(report).toMatchObject({ failedRecipient: "bo@example.net" });
  });

  test("names the message by the unique argument or by its Message-ID, and none if they name two", () => {
    const named = (postledger_id: unknown, smtpId: unknown) =>
      readSendgridEvent(event("delivered", { postledger_id, "smtp-id": smtpId })).emailId;
    expect(named(undefined, `<${ID}@shop.example>`)).toBe(ID);
    expect(named(ID.toUpperCase(), `<${ID}@shop.example>`)).toBe(ID);
    expect(named(crypto.randomUUID(), `<${ID}@shop.example>`)).toBeNull();
    expect(named({ id: ID }, 7)).toBeNull();
  });
});
