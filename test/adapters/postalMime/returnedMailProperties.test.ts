import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { parseReturnedMail } from "../../../src/adapters/postalMime/parseReturnedMail.ts";
import { isAnotherAddress } from "../../../src/domain/email/feedback/isAnotherAddress.ts";
import { type ReturnedMail, readReturnedMail } from "../../../src/domain/email/feedback/readReturnedMail.ts";
import { reasonToSuppress } from "../../../src/domain/email/feedback/suppressionRule.ts";
import { RECIPIENT, statusReport, textReport } from "./returnedMail/specimen.ts";

const RUNS = { numRuns: 500 };

const people = fc.constantFrom(
  "Ana <ana@mailbox.example>",
  "Front desk <desk@mailbox.example>",
  "<a@b.example>",
);
const servers = fc.constantFrom(
  "MAILER-DAEMON@mailbox.example",
  "Mail Delivery System <mailer-daemon@mailbox.example>",
  "Mail Administrator <it@mailbox.example>",
  "postmaster@mailbox.example",
);
/** Of ours, which a reply may keep, and of servers. */
const subjects = fc
  .tuple(
    fc.constantFrom("", "Re: ", "AW: ", "Fwd: ", "[Ticket 12] ", "[Ticket 12] Re: "),
    fc.constantFrom(
      "Your order",
      "Delivery status of your order",
      "Undeliverable parcel 4711",
      "Undelivered Mail Returned to Sender",
      "DELIVERY FAILURE: user unknown",
      "Your payment was rejected",
      "failure notice",
    ),
  )
  .map(([prefix, subject]) => prefix + subject);
const sentences = [
  "The recipient is unknown to us.",
  "user unknown",
  "The account of Eve is no longer valid.",
  "No such user at reception; this mailbox does not exist.",
  "Call us: 0511 550 12.",
  "Order 550-12, 4.1 kg, version 5.1.",
  "I am away until Monday.",
  "",
];
const codes = ["550 5.1.1 user unknown", "554 no such user", "(#5.1.1)"];
const fields = [`Final-Recipient: rfc822; ${RECIPIENT}`, "Action: failed", "Status: 5.1.1"];
const linesOf = (lines: readonly string[]) =>
  fc.array(fc.constantFrom(...lines), { maxLength: 8 }).map((some) => some.join("\n"));
const senders = fc.constantFrom<readonly string[]>([], ["Return-Path: <>"]);
const submitted = ["auto-replied", "auto-generated", "auto-replied (vacation)"];
const automatic = fc.constantFrom(...submitted.map((kind) => [`Auto-Submitted: ${kind}`]));
const marked = fc.constantFrom(
  ["X-Auto-Response-Suppress: All"],
  ["X-Autoreply: yes"],
  ["X-Apple-Action: JUNK-MAIL/VACATION"],
  ["Precedence: auto_reply"],
);

interface ReplyKind {
  readonly from: fc.Arbitrary<string>;
  /** Header fields by which a reply says that it is one. */
  readonly says: fc.Arbitrary<readonly string[]>;
  readonly text: fc.Arbitrary<string>;
}

/** Replies without a part for machines, with any subject. */
function replies({ from, says, text }: ReplyKind): fc.Arbitrary<string> {
  return fc
    .record({ from, says, text, subject: subjects, path: senders })
    .map((one) =>
      textReport([...one.path, `From: ${one.from}`, `Subject: ${one.subject}`, ...one.says], one.text),
    );
}

/** Reads each generated mail to this kind. */
async function allAre(kind: ReturnedMail["kind"], mails: fc.Arbitrary<string>): Promise<void> {
  await fc.assert(
    fc.asyncProperty(mails, async (mail) => {
      expect((await read(mail)).kind).toBe(kind);
    }),
    RUNS,
  );
}

async function read(mail: string): Promise<ReturnedMail> {
  const parsed = await parseReturnedMail(Buffer.from(mail));
  return parsed === null ? { kind: "unknown" } : readReturnedMail(parsed);
}

function suppresses(reading: ReturnedMail): boolean {
  return reading.kind === "bounced" && reasonToSuppress(reading) !== null;
}

describe("an automatic reply, whatever its subject (properties):", () => {
  const anybody = fc.oneof(people, servers);
  const anything = linesOf([...sentences, ...codes, ...fields]);
  const noCodes = linesOf(sentences);

  test("is no bounce if it bears a mark of one, whoever sends it and whatever it says", async () => {
    await allAre("autoReply", replies({ from: anybody, says: marked, text: anything }));
  });

  test("is no bounce if it was sent automatically and no server sent it, whatever it says", async () => {
    await allAre("autoReply", replies({ from: people, says: automatic, text: anything }));
  });

  test("is no bounce if it was sent automatically and quotes no reply code, whoever sends it", async () => {
    await allAre("autoReply", replies({ from: anybody, says: automatic, text: noCodes }));
  });

  test("is no bounce if a person sends it and it quotes no reply code, even if it does not say what it is", async () => {
    await allAre("unknown", replies({ from: people, says: fc.constant([]), text: noCodes }));
  });

  test("is no bounce if it is a read receipt, whoever sends it and whatever it says", async () => {
    const type = "multipart/report; report-type=disposition-notification";
    const parts = ["message/disposition-notification", "text/plain", "message/delivery-status"];
    const receipts = fc
      .record({ from: anybody, subject: subjects, text: anything, statusType: fc.constantFrom(...parts) })
      .map((one) => statusReport({ ...one, type, status: [fields] }));
    await allAre("autoReply", receipts);
  });
});

describe("a report for machines (properties):", () => {
  test("suppresses if a recipient failed for good and nobody got the message, in any order", async () => {
    const groups = fc.record({
      action: fc.constantFrom("failed", "delayed", "delivered", "relayed", "expanded"),
      status: fc.constantFrom("5.1.1", "4.4.1", "2.0.0"),
      recipient: fc.constantFrom(RECIPIENT, "bo@else.example", "unknown"),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(groups, { minLength: 1, maxLength: 4 }), async (all) => {
        const status = all.map((one) => [
          `Final-Recipient: rfc822; ${one.recipient}`,
          `Action: ${one.action}`,
          `Status: ${one.status}`,
        ]);
        const failed = all.find(({ action }) => action === "failed");
        const isPartial = all.some(({ action }) => action === "delivered" || action === "relayed");
        const reading = await read(statusReport({ status: [["Reporting-MTA: dns; a.example"], ...status] }));
        expect(reading.kind === "bounced").toBe(failed !== undefined);
        expect(suppresses(reading)).toBe(failed?.status.startsWith("5") === true && !isPartial);
      }),
      RUNS,
    );
  });
});

describe("the recipient that a report names (properties):", () => {
  const labels = fc.stringMatching(/^[a-z][a-z0-9]{0,8}$/);
  const addresses = fc.tuple(labels, labels).map(([user, name]) => ({ user, domain: `${name}.example` }));

  test("is the one that was sent to, if only its host, its case or what follows a + differs", () => {
    fc.assert(
      fc.property(
        addresses,
        labels,
        fc.boolean(),
        fc.boolean(),
        ({ user, domain }, label, hasHost, isTagged) => {
          const other =
            `${user}${isTagged ? `+${label}` : ""}@${hasHost ? `${label}.` : ""}${domain}`.toUpperCase();
          expect(isAnotherAddress(other, `${user}@${domain}`)).toBe(false);
          expect(isAnotherAddress(`${user}@${domain}`, other)).toBe(false);
        },
      ),
      RUNS,
    );
  });

  test("is another, if its user or its domain differs", () => {
    fc.assert(
      fc.property(addresses, addresses, (one, other) => {
        fc.pre(one.user !== other.user || one.domain !== other.domain);
        const [first, second] = [one, other].map(({ user, domain }) => `${user}@${domain}`);
        expect(isAnotherAddress(first ?? "", second ?? "")).toBe(true);
      }),
      RUNS,
    );
  });
});
