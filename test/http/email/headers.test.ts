import { describe, expect, test } from "bun:test";
import { faultsIn } from "../../support/mail/sentEmail.ts";
import { serviceFixture } from "../../support/serviceFixture.ts";
import { sqliteStore, testStores } from "../../support/stores/stores.ts";
import { message, newKey } from "../../support/tenants.ts";

const PATH = "/api/v1/emails";
const ONE_CLICK = {
  "List-Unsubscribe": "<mailto:leave@example.com>, <https://example.com/leave?u=1>",
  "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
};

describe.each(await testStores())("headers of the caller's own on $name", (store) => {
  const { tenant } = serviceFixture(store);
  const send = (headers: unknown, key = newKey()) => tenant.send(key, message({ headers }));

  const allowed: readonly (readonly [string, Readonly<Record<string, string>>])[] = [
    ["one click to unsubscribe", ONE_CLICK],
    ["an X header in any script", { "X-Kunde": "Grüße an 山田 👩‍💻", "x-Shop-Tags": 'a="b", c=d' }],
    ["a thread", { References: "<1@example.com> <2@example.com>", "In-Reply-To": "<2@example.com>" }],
    ["marks", { "Auto-Submitted": "no", Importance: "High", precedence: "bulk", "Feedback-ID": "a:b:c:d" }],
    [
      "labels for a relay",
      {
        "X-SES-Message-Tags": "a=b",
        "X-PM-Metadata-order": "4711",
        "x-mc-tags": "a",
        "X-Mailin-custom": "a",
      },
    ],
    ["a list's id", { "List-Id": '"The news" <news.example.com>', "List-Post": "NO" }],
    ["998 characters", { "X-Long": "🎩".repeat(998) }],
    ["20 of them", Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`X-${index}`, "a"]))],
  ];
  for (const [what, headers] of allowed) {
    test(`${what} are taken, shown as they came, and erased with the content`, async () => {
      const { status, json } = await send(headers);
      expect(status).toBe(202);
      expect((await tenant.call("GET", `${PATH}/${json.id}`)).json.headers).toEqual(headers);
      const erased = await tenant.call("DELETE", `${PATH}/${json.id}/content`);
      expect(erased.json.headers).toBeNull();
    });
  }

  test("none are null, and the same content as an empty object", async () => {
    const key = newKey();
    const { json } = await tenant.send(key, message());
    expect((await send({}, key)).json).toEqual(json);
    expect((await send({ "X-A": "b" }, key)).json.code).toBe("IDEMPOTENCY_CONFLICT");
    expect((await tenant.call("GET", `${PATH}/${json.id}`)).json.headers).toBeNull();
  });
});

describe("headers that a send cannot set", () => {
  const { tenant } = serviceFixture(sqliteStore);
  const faultsOf = async (headers: unknown) => {
    const faults = faultsIn(await tenant.send(newKey(), message({ headers })));
    return Object.fromEntries(faults.map(({ pointer, message }) => [pointer, message]));
  };

  const written: readonly (readonly [name: string, member: string])[] = [
    ["From", ", from from and from_name"],
    ["TO", ", from to and to_name"],
    ["reply-to", ", from reply_to and reply_to_name"],
    ["Subject", ", from subject"],
    ["Date", ""],
    ["Message-ID", ""],
    ["MIME-Version", ""],
    ["Content-Type", ""],
    ["Content-Transfer-Encoding", ""],
    ["X-Postledger-Id", ""],
  ];
  for (const [name, member] of written) {
    test(`${name} is refused: the service writes it`, async () => {
      expect(await faultsOf({ [name]: "a" })).toEqual({
        [`/headers/${name}`]: `is written by the service${member}`,
      });
    });
  }

  for (const name of ["Sender", "Return-Path", "DKIM-Signature", "constructor", "__proto__", "X-"]) {
    test(`${name} is not one that a send can set`, async () => {
      const headers = JSON.parse(`{"${name}":"eve@example.com"}`);
      const faults = await faultsOf(headers);
      expect(faults[`/headers/${name}`]).toStartWith("is not one that a send can set: X-…, List-…");
    });
  }

  test("headers that identify the message to a provider are refused, because they could name another one", async () => {
    const id = crypto.randomUUID();
    expect(await faultsOf({ "x-pm-metadata-Postledger_ID": id })).toEqual({
      "/headers/x-pm-metadata-Postledger_ID": "is written by the service",
    });
    expect(await faultsOf({ "X-SES-Message-Tags": `a=b, postledger_id=${id}` })).toEqual({
      "/headers/X-SES-Message-Tags": "must not hold postledger_id, which the service writes",
    });
    for (const variables of [`{"Postledger_ID":"${id}"}`, String.raw`{"postledger\u005fid":"${id}"}`]) {
      expect(await faultsOf({ "x-mailgun-variables": variables })).toEqual({
        "/headers/x-mailgun-variables": "must not hold postledger_id, which the service writes",
      });
    }
  });

  test.each(["Cc", "Bcc"])("%s is refused: relays would read recipients from it", async (name) => {
    const faults = await faultsOf({ [name]: "eve@example.com" });
    expect(faults).toEqual({ [`/headers/${name}`]: "may name further recipients; a message has one" });
  });

  test.each([
    "X-SMTPAPI",
    "X-MSYS-API",
    "x-mc-bccaddress",
    "X-MC-Template",
    "X-MJ-TemplateErrorReporting",
    "x-mj-templateid",
    "X-MJ-TemplateLanguage",
    "X-Mailjet-DeduplicateCampaign",
    "X-SES-Configuration-Set",
    "X-SES-SOURCE-ARN",
    "X-PM-Message-Stream",
    "X-Mailgun-Recipient-Variables",
    "X-Mailgun-Template-Name",
    "X-Mailin-templateId",
    "X-Sib-Sandbox",
    "X-ElasticEmail-Template",
    "X-MT-Template",
    "X-MailerSend-Template",
    "X-MQ-Envelope",
  ])("%s is refused: it would instruct the relay", async (name) => {
    expect(await faultsOf({ [name]: "eve@example.com" })).toEqual({
      [`/headers/${name}`]:
        "is an instruction to a relay, which could name further recipients or replace the content",
    });
  });

  for (const [what, value] of [
    ["a CR LF", "a\r\nBcc: eve@example.com"],
    ["a CR", "a\rBcc: eve@example.com"],
    ["an LF", "a\nBcc: eve@example.com"],
    ["a folded line", "a\r\n b"],
    ["an LF at the end", "a\n"],
    ["a NUL", "a\0b"],
    ["a tab", "a\tb"],
    ["a next line", "a\u0085b"],
    ["blanks alone", "   "],
    ["nothing", ""],
    ["999 characters", "x".repeat(999)],
    ["a number", 7],
    ["null", null],
  ] as const) {
    test(`a value of ${what} is refused`, async () => {
      for (const name of ["X-Own", "List-Unsubscribe", "References", "Feedback-ID"])
        expect(Object.keys(await faultsOf({ [name]: value }))).toEqual([`/headers/${name}`]);
    });
  }

  for (const [what, headers, pointer] of [
    ["a name with a colon", { "X-A: b": "c" }, "/headers/X-A: b"],
    ["a name with a line break", { "X-A\r\nBcc": "c" }, "/headers/X-A\r\nBcc"],
    ["a name with a space", { "X-A b": "c" }, "/headers/X-A b"],
    ["a name in another script", { "X-Grüße": "c" }, "/headers/X-Grüße"],
    ["a name of 77 characters", { [`X-${"a".repeat(75)}`]: "c" }, `/headers/X-${"a".repeat(75)}`],
    ["a name with a slash", { "X-a/b": "c" }, "/headers/X-a~1b"],
    ["a name twice", { "X-A": "1", "x-a": "2" }, "/headers/x-a"],
    ["21 headers", Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`X-${i}`, "a"])), "/headers"],
    ["a list", ["X-A: b"], "/headers"],
    ["a text", "X-A: b", "/headers"],
    ["an address that is none", { "List-Unsubscribe": "https://example.com" }, "/headers/List-Unsubscribe"],
    [
      "an address that no line can hold",
      { "List-Help": `<https://example.com/${"a".repeat(900)}>` },
      "/headers/List-Help",
    ],
    [
      "one click without an https address",
      { ...ONE_CLICK, "List-Unsubscribe": "<mailto:a@example.com>" },
      "/headers/List-Unsubscribe-Post",
    ],
    [
      "one click alone",
      { "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" },
      "/headers/List-Unsubscribe-Post",
    ],
    [
      "another post",
      { ...ONE_CLICK, "List-Unsubscribe-Post": "Leave=Now" },
      "/headers/List-Unsubscribe-Post",
    ],
    ["a reference that is none", { References: "1@example.com" }, "/headers/References"],
    ["a reference in another script", { "In-Reply-To": "<ü@example.com>" }, "/headers/In-Reply-To"],
    ["another importance", { Importance: "urgent" }, "/headers/Importance"],
  ] as const) {
    test(`${what} is refused`, async () => {
      expect(Object.keys(await faultsOf(headers))).toEqual([pointer]);
    });
  }
});
