import { describe, expect, test } from "bun:test";
import { domainToASCII } from "node:url";
import fc from "fast-check";
import { parseAddress, parseDomain } from "../../src/kernel/text/emailAddress.ts";
import { anyText } from "../support/anyText.ts";

describe("domains", () => {
  const labels = fc.string({ unit: fc.constantFrom("a", "b", "x", "n", "0", "1", "-", "é"), maxLength: 6 });
  const domains = fc.array(labels, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("."));

  test("already in ASCII are the same as after full conversion", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          domains,
          domains.map((domain) => `xn--${domain}`),
        ),
        (domain) => {
          const parsed = parseDomain(domain);
          if (parsed !== null) expect(parsed).toBe(domainToASCII(domain));
        },
      ),
      { numRuns: 2_000 },
    );
    for (const domain of ["a.xn--a", "xn--a.b", "a.0x1", "a.1", "a.b-", "a", "a..b", `${"a".repeat(64)}.b`])
      expect(parseDomain(domain)).toBeNull();
    expect(parseDomain("ab--c.d")).toBe("ab--c.d");
    expect(parseDomain("MÜNCHEN.example")).toBe("xn--mnchen-3ya.example");
  });
});

describe("addresses", () => {
  test("are never those of another domain with characters left out", () => {
    for (let code = 0x80; code <= 0x10ffff; code += 1) {
      const domain = `exam${String.fromCodePoint(code)}ple.org`;
      if (domainToASCII(domain) === "example.org")
        expect(parseAddress(`ana@${domain}`)).toHaveProperty("invalid");
    }
  });

  test.each([
    ["ana@example.com", "ana@example.com", "ana@example.com"],
    ["Ana.B+Tag@EXAMPLE.Com", "Ana.B+Tag@example.com", "ana.b+tag@example.com"],
    ["ana@bücher.example", "ana@xn--bcher-kva.example", "ana@xn--bcher-kva.example"],
    ["o'hara!#$%&*+/=?^_`{|}~-@a.co", "o'hara!#$%&*+/=?^_`{|}~-@a.co", "o'hara!#$%&*+/=?^_`{|}~-@a.co"],
    [`${"a".repeat(64)}@a.co`, `${"a".repeat(64)}@a.co`, `${"a".repeat(64)}@a.co`],
    ["a@1.example.com", "a@1.example.com", "a@1.example.com"],
    ["a@example\u3002com", "a@example.com", "a@example.com"],
    // A joiner that Persian needs (RFC 5892, appendix A.1).
    ["a@نامه\u200cای.com", "a@xn--mgba3gch31f060k.com", "a@xn--mgba3gch31f060k.com"],
  ])("%s is sent to %s and compared as %s", (text, sent, canonical) => {
    expect(parseAddress(text)).toEqual({ sent, canonical });
  });

  test.each([
    "",
    "ana",
    "@example.com",
    "ana@",
    "ana@localhost",
    "a@b@example.com",
    "Ana <ana@example.com>",
    "ana@example.com, bob@example.com",
    "ana@example.com;bob@example.com",
    "ana@example.com\r\nBcc: bob@example.com",
    "ana@example.com\0",
    " ana@example.com",
    "ana@example.com ",
    "an a@example.com",
    '"ana"@example.com',
    "ana(comment)@example.com",
    ".ana@example.com",
    "ana.@example.com",
    "an..a@example.com",
    "änä@example.com",
    `${"a".repeat(65)}@example.com`,
    "ana@example.com.",
    "ana@.example.com",
    "ana@example..com",
    "ana@-example.com",
    "ana@example-.com",
    "ana@exa_mple.com",
    "ana@exam\u00adple.org",
    "ana@exam\u200dple.org",
    "ana@example.org\ufeff",
    "ana@127.0.0.1",
    "ana@127.1",
    "ana@[127.0.0.1]",
    "ana@①②⑦.0.0.1",
    "ana@exa%6dple.com",
    "ana@example.com/path",
    "ana@example.com?query",
    "ana@example.com#part",
    "ana@example.com:25",
    `ana@${"a".repeat(64)}.com`,
    `ana@${`${"a".repeat(60)}.`.repeat(5)}com`,
  ])("%j is refused with a reason", (text) => {
    const parsed = parseAddress(text);
    expect("invalid" in parsed && parsed.invalid.length > 10).toBe(true);
  });

  test("what passes is header-safe ASCII, and passes again unchanged (property)", () => {
    const shaped = fc.tuple(anyText, anyText).map((parts) => `a${parts[0]}@${parts[1]}example.com`);
    fc.assert(
      fc.property(fc.oneof(anyText, fc.emailAddress(), shaped), (text) => {
        const parsed = parseAddress(text);
        if ("invalid" in parsed) return;
        expect(parsed.sent).toMatch(/^[\x21-\x7e]+$/);
        expect(parsed.canonical).toBe(parsed.sent.toLowerCase());
        expect(parseAddress(parsed.sent)).toEqual(parsed);
      }),
      { numRuns: 500 },
    );
  });
});
