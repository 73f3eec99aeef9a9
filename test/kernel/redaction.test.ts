import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { redactRelayReply } from "../../src/domain/email/delivery/redactRelayReply.ts";
import { redactResponse } from "../../src/domain/webhookDelivery/redactResponse.ts";
import { withoutAddresses, withoutTexts } from "../../src/kernel/text/redaction.ts";

const METADATA = { customer: "Zoë O'Brien & sons", number: 4915112345678, vip: true, ref: "A7" };
const INCLUDED = { from: "shop@example.com", to: "ana.o'neill+c@example.org", subject: "Order 4711 & more" };
const PAYLOAD = {
  type: "email.sent",
  data: { address: "ana.b+c@example.org", metadata: METADATA, ...INCLUDED },
};

describe("an endpoint's answer", () => {
  const json = JSON.stringify(PAYLOAD);
  test.each([
    ["as it was sent", json],
    ["escaped to ASCII", json.replaceAll("ë", "\\u00eb").replaceAll("@", "\\u0040")],
    ["in a string of JSON", JSON.stringify({ got: json })],
    ["as a form", new URLSearchParams({ payload: json }).toString()],
    ["percent-encoded", encodeURIComponent(json)],
    [
      "in HTML",
      `<pre>${json.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replace("@", "&#64;")}</pre>`,
    ],
    ["in Base64", `ok ${Buffer.from(json).toString("base64")}`],
    ["in upper case", json.toUpperCase()],
  ])("that repeats the payload %s keeps nothing of it", (_, body) => {
    const redacted = redactResponse(body, {
      metadata: METADATA,
      included: Object.values(INCLUDED),
    }).toLowerCase();
    for (const text of ["ana.", "example.org", "brien", "4915112345678", "a7", "shop", "neill", "4711"]) {
      expect(redacted).not.toContain(text);
    }
  });

  test("without request content stays unchanged", () => {
    const body = '{"ok":true,"id":"9f86d081-884c-7d65-9a2f-eaa0c55ad015","took":"A71 ms"}';
    expect(redactResponse(body, { metadata: METADATA, included: [] })).toBe(body);
    expect(redactResponse(body, { metadata: null, included: [] })).toBe(body);
  });

  test("is kept up to 1,000 characters", () => {
    expect(redactResponse("x ".repeat(2_000), { metadata: null, included: [] })).toHaveLength(1_000);
  });

  test("that is one long word is redacted quickly", () => {
    expect(withoutAddresses("x".repeat(2_000_000), "<address>")).toHaveLength(2_000_000);
  });
});

test("a relay's answer keeps no reply_to, no subject, no name, and no address in another script", () => {
  const content = {
    from: "shop@example.com",
    to: "ana@xn--bcher-kva.example",
    toName: "Ana Smithson",
    replyTo: "help@x.example",
    replyToName: "Berta Helper",
    subject: "Your order 7",
  };
  const reply =
    "550 5.7.1 ana@bücher.example (Ana Smithson): 'Your order 7' from ana@xn--bcher-kva.example, ask Berta Helper, help@x.example or eva@y.example";
  expect(redactRelayReply(reply, content)).toBe(
    "550 5.7.1 <recipient> (<content>): '<content>' from <recipient>, ask <content>, <content> or <address>",
  );
});

test("a text is removed from any text that it is inserted into (property)", () => {
  const texts = fc.array(fc.string({ minLength: 4, maxLength: 12 }), { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(texts, fc.array(fc.tuple(fc.string(), fc.nat(3))), (all, parts) => {
      const body = parts.map(([between, which]) => between + (all[which % all.length] ?? "")).join("");
      const redacted = withoutTexts(body, all, "");
      // Text around a removed one could join to form another; the placeholder prevents that.
      const named = withoutTexts(body, all, "\u0000\u0000");
      expect(redacted.length).toBeLessThanOrEqual(body.length);
      for (const one of all) expect(named.includes(one) && !one.includes("\u0000")).toBe(false);
    }),
  );
});
