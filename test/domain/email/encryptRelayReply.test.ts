import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { classifyMailOutcome } from "../../../src/domain/email/delivery/classifyMailOutcome.ts";
import { encryptRelayReply, replyCodes } from "../../../src/domain/email/delivery/encryptRelayReply.ts";
import { relayIdOf } from "../../../src/domain/email/delivery/relayMessageId.ts";
import type { MailOutcome } from "../../../src/kernel/outcome/mailOutcome.ts";

const ADDRESSES = ["orders@example.com", "ana.smithson@example.org", ""];
const seal = (text: string) => `sealed ${text.length}`;

describe("the codes of a reply", () => {
  test.each([
    ["250 2.0.0 Ok: queued as 7F3A12C4D", "250 2.0.0"],
    ["550-5.1.1 User unknown", "550 5.1.1"],
    ["250 written to the outbox", "250"],
    ["550 5.1.1.1 no", "550 5.1.1"],
    ["ECONNREFUSED", ""],
    ["", ""],
  ])("of %p are %p", (reply, codes) => {
    expect(replyCodes(reply)).toBe(codes);
  });
});

describe("the relay's own id", () => {
  test.each([
    ["250 Ok 0102018c8f7e6d5c-1a2b3c4d-5e6f-7a8b-9c0d-1e2f3a4b5c6d-000000"],
    ["250 2.0.0 Ok: queued as 7F3A12C4D5"],
    ["250 2.0.0 Ok: queued as 4Wxyz12Bcdz3kQ"],
    ["250 2.0.0 b7bc2f4a-5e38-4336-af7d-e6c392c2f817 accepted"],
  ])("is found in %p", (reply) => {
    const id = relayIdOf(reply, ADDRESSES);
    expect(id).toBeString();
    expect(reply).toContain(id ?? "");
  });

  test.each([
    ["Exim", "250 OK id=1abcde-000Ab1-2C", "1abcde-000Ab1-2C"],
    ["Exim", "250 OK id=1rF3yE-00000001abC-2dEf", "1rF3yE-00000001abC-2dEf"],
    ["Gmail", "250 2.0.0 OK 1700000000 abc123-20020a.45 - gsmtp", "abc123-20020a.45"],
    [
      "Gmail",
      "250 2.0.0 OK  1700831533 q14-20020a05600c46ce00b0040b2b9c0b1esm5013wmo.25 - gsmtp",
      "q14-20020a05600c46ce00b0040b2b9c0b1esm5013wmo.25",
    ],
    ["Sendmail", "250 2.0.0 v7HFQ9Zo012345 Message accepted for delivery", "v7HFQ9Zo012345"],
    [
      "Exchange",
      "250 2.6.0 <6f1c9a52-8d0e-5b7a-9c3f-2f6f0a1b2c3d@example.com> [InternalId=24601230049286, Hostname=AM0PR01MB1.eurprd01.prod.outlook.com] 8317 bytes in 0.145, 56.014 KB/sec Queued mail for delivery",
      "24601230049286",
    ],
    ["Exchange", "250 2.6.0 <a@example.com> [InternalId=7301444402] Queued mail for delivery", "7301444402"],
    ["others", "250 2.0.0 Ok: queued as Q7", "Q7"],
  ])("of %s is read from %p", (_, reply, id) => {
    expect(relayIdOf(reply, ADDRESSES)).toBe(id);
  });

  test.each([
    ["a local part", "250 2.0.0 Ok: queued as ana.smithson"],
    ["an address", "250 2.0.0 queued 7f3a12c4d5@example.org"],
    ["a word", "250 2.0.0 Ok: queued as Smithson"],
    ["a number, which may be a telephone's", "250 2.0.0 Ok: queued as 491701234567"],
    ["hexadecimal for the local part", `250 queued as ${Buffer.from("ana.smithson").toString("hex")}1`],
    ["a name behind id=", "250 OK id=Ann-Smithson-Jr"],
    ["a name before Gmail's end", "250 2.0.0 OK 1700000000 ana-smithson.45 - gsmtp"],
    ["a name in Sendmail's place", "250 2.0.0 smithson1990 Message accepted for delivery"],
    ["a short name", "250 2.0.0 Ok: queued as Al"],
    ["a short name with a number", "250 2.0.0 Ok: queued as ana7"],
    ["nothing", "250 2.0.0 Ok"],
  ])("is not taken from what may be %s", (_, reply) => {
    expect(relayIdOf(reply, ADDRESSES)).toBeUndefined();
  });

  test("is never one that is part of an address of the message, or contains one", () => {
    expect(
      relayIdOf("250 queued as 7f3a12c4d5", ["x@example.com", "7f3a12c4d5@example.org"]),
    ).toBeUndefined();
    expect(relayIdOf("250 queued as 7f3a12c4d5", ["x@example.com", "3a12c4@example.org"])).toBeUndefined();
  });
});

describe("what is recorded of an outcome", () => {
  test("keeps nothing of the reply except codes, the relay's id, and the encrypted text", () => {
    const words = fc.string({ minLength: 1, maxLength: 60, unit: "grapheme" });
    const outcome: fc.Arbitrary<MailOutcome> = fc.oneof(
      words.map((text): MailOutcome => ({ kind: "accepted", reply: `250 2.0.0 ~${text}~` })),
      fc
        .tuple(words, fc.constantFrom(450, 550), fc.constantFrom("mail", "rcpt", "data", "final"))
        .map(([text, code, stage]): MailOutcome => {
          return { kind: "refused", stage: stage as "rcpt", code, reply: `${code} 5.2.0 ~${text}~` };
        }),
      words.map((text): MailOutcome => ({ kind: "broken", stage: "rcpt", reason: `~${text}~` })),
      words.map((text): MailOutcome => ({ kind: "unknown", reason: `~${text}~` })),
    );
    fc.assert(
      fc.property(outcome, (one) => {
        const recorded = encryptRelayReply(classifyMailOutcome(one), seal, ADDRESSES);
        expect(JSON.stringify(recorded)).not.toContain("~");
        expect(recorded).toHaveProperty("sealedReply");
      }),
    );
  });

  test("encrypts nothing if there was no reply", () => {
    expect(encryptRelayReply(classifyMailOutcome({ kind: "outOfTime" }), seal, ADDRESSES)).not.toHaveProperty(
      "sealedReply",
    );
  });
});
