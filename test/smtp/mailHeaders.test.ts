import { describe, expect, test } from "bun:test";
import { smtpClient } from "../support/mail/smtpClient.ts";
import { serviceFixture } from "../support/serviceFixture.ts";
import { sqliteStore } from "../support/stores/stores.ts";
import { SENDER } from "../support/tenants.ts";

describe("the headers of a mail over SMTP", () => {
  const { service, tenant } = serviceFixture(sqliteStore, { SUBMISSION_PORT: "0" });

  const replyTo = async (...lines: readonly string[]) => {
    const client = await smtpClient(service.app.app.submission?.port ?? 0);
    await client.logIn(tenant.apiKey);
    const header = [`From: ${SENDER}`, "Subject: Hello", ...lines].join("\r\n");
    const reply = await client.send(["ana@example.com"], `${header}\r\n\r\nIt works.\r\n`);
    client.destroy();
    return reply;
  };
  /** The headers of the message that a mail with these lines becomes. */
  const headersOf = async (...lines: readonly string[]) => {
    const reply = await replyTo(...lines);
    expect(reply).toStartWith("250 ");
    const { json } = await tenant.call("GET", `/api/v1/emails/${reply.split(" ").at(-1)}`);
    return json.headers;
  };

  test.each([
    ["longer than a send carries", [`X-Result: ${"A0".repeat(36)}${"\r\n A0".repeat(400)}`, "X-Ok: 1"]],
    ["with a name that a send does not carry", ["X-Foo.Bar: 1", "X-Ok: 1"]],
    ["with a control character", ["X-A: a\x07b", "X-Ok: 1"]],
    ["with a value that it does not define", ["Precedence: special", "Importance: urgent", "X-Ok: 1"]],
    [
      "without anything that it is for",
      ["References: nothing", "List-Unsubscribe: https://a.example", "X-Ok: 1"],
    ],
    [
      "meant for a relay",
      ["X-SMTPAPI: {}", "X-MJ-TemplateErrorReporting: eve@example.com", "X-PM-Tag: a", "X-Ok: 1"],
    ],
    [
      "that unsubscribes with one click, but has nowhere to",
      ["List-Unsubscribe-Post: List-Unsubscribe=One-Click", "X-Ok: 1"],
    ],
  ])("one %s is dropped", async (_, lines) => {
    expect(await headersOf(...lines)).toEqual({ "X-Ok": "1" });
  });

  test("one that is there twice: the first counts", async () => {
    expect(await headersOf("X-Virus-Scanned: a", "x-virus-scanned: b")).toEqual({ "X-Virus-Scanned": "a" });
  });

  test("more than a send carries: the first X- headers come along, and all others", async () => {
    const many = Array.from({ length: 25 }, (_, index) => `X-H${index}: 1`);
    const headers = await headersOf(...many, "List-Id: <news.example.com>", "Importance: high");
    expect(Object.keys(headers).sort()).toEqual(
      ["Importance", "List-Id", ...Array.from({ length: 18 }, (_, index) => `X-H${index}`)].sort(),
    );
  });

  test.each([
    ["References: <a@b.example><c@d.example>", "<a@b.example> <c@d.example>"],
    ["In-Reply-To: Your mail of Monday <a@b.example> (lost)", "<a@b.example>"],
    ["Auto-Submitted: auto-generated; type=status", "auto-generated"],
    ["Auto-Submitted: auto-replied (rejected)", "auto-replied"],
    [
      "List-Unsubscribe: <mailto:u@example.com> (Leave),\r\n <https://a.example/u>",
      "<mailto:u@example.com>, <https://a.example/u>",
    ],
    [
      `List-Unsubscribe: <https://a.example/u?${"a".repeat(60)}\r\n ${"b".repeat(60)}>`,
      `<https://a.example/u?${"a".repeat(60)}${"b".repeat(60)}>`,
    ],
    [
      `List-Help: <https://a.example/${"a".repeat(600)}>,\r\n <https://b.example/${"b".repeat(600)}>`,
      `<https://a.example/${"a".repeat(600)}>`,
    ],
    ["List-Post: NO (posting not allowed)", "NO"],
    ["List-Id: News of the shop <news.example.com>", "News of the shop <news.example.com>"],
    ["List-Id: news.example.com", "<news.example.com>"],
    ["List-Id: =?utf-8?Q?Gr=C3=BC=C3=9Fe?= <news.example.com>", "<news.example.com>"],
  ])("header %# is written as a send writes it", async (line, value) => {
    expect(Object.values(await headersOf(line))).toEqual([value]);
  });

  test("a long thread keeps the message that began it, and the latest ones", async () => {
    const ids = Array.from({ length: 14 }, (_, nth) => `<${nth}.${"a".repeat(80)}@help.example>`);
    const { References } = await headersOf(`References: ${ids.join("\r\n ")}`);
    expect(References).toBe([ids[0], ...ids.slice(-9)].join(" "));
    expect(References.length).toBeLessThanOrEqual(998);
  });

  test.each([
    "From: other@example.com",
    "Reply-To: a@example.com, b@example.com",
    "X-Idempotency-Key: short",
  ])("%s is still refused: it changes who gets what from whom", async (line) => {
    expect(await replyTo(line)).toStartWith("554 5.6.0 ");
  });
});
