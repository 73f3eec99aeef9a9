import { describe, expect, test } from "bun:test";
import { domainToASCII } from "node:url";
import fc from "fast-check";
import { type EmailContent, emailCodec } from "../../src/domain/email/events.ts";
import { emailId } from "../../src/domain/email/idempotency.ts";
import { apiKeyId, newApiKey } from "../../src/kernel/crypto/apiKeyFormat.ts";
import {
  decrypt,
  deriveKey,
  encrypt,
  equalInConstantTime,
  instanceKeys,
  newDataKey,
} from "../../src/kernel/crypto/derivedKeys.ts";
import { COMPRESS_ABOVE_BYTES, encodeData, UnreadableEventError } from "../../src/kernel/event/codec.ts";
import { isUuid, newId, newRequestId } from "../../src/kernel/ids.ts";
import { lazy } from "../../src/kernel/lazy.ts";
import { parseAddress, parseDomain } from "../../src/kernel/text/emailAddress.ts";
import { isHeaderSafe } from "../../src/kernel/text/headerSafe.ts";
import { canonicalJson, type Json } from "../../src/kernel/text/json.ts";
import { nearestName } from "../../src/kernel/text/nearestName.ts";
import { bytesText, counted, grouped } from "../../src/kernel/text/readableNumbers.ts";
import { codePoints, excerpt } from "../../src/kernel/text/textLength.ts";
import { wholeNumber } from "../../src/kernel/text/wholeNumber.ts";
import { epochMs, rfc3339 } from "../../src/kernel/time.ts";
import { throughStore } from "../support/givenWhenThen.ts";

/** Texts with emoji, lone surrogates and all else that JavaScript lets into a string. */
const texts = fc.oneof(fc.string({ unit: "grapheme" }), fc.string({ unit: "binary" }), halves());

function halves() {
  const unit = fc.constantFrom("a", "\ud83d", "\ude00", "\ud800", "\udfff", "é", "\u20ac");
  return fc.array(unit, { maxLength: 12 }).map((units) => units.join(""));
}

describe("canonical JSON", () => {
  test("is RFC 8785's own example (§3.2.2)", () => {
    const example = `{
      "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\"\\/",
      "literals": [null, true, false]
    }`;
    expect(canonicalJson(JSON.parse(example))).toBe(
      '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],' +
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
    );
  });

  test("sorts keys by UTF-16 code units (RFC 8785 §3.2.3)", () => {
    const example = {
      "\u20ac": 1,
      "\r": 2,
      "\ufb33": 3,
      "1": 4,
      "\ud83d\ude00": 5,
      "\u0080": 6,
      "\u00f6": 7,
    };
    const keys = [...canonicalJson(example).matchAll(/:(\d)/g)].map(([, digit]) => Number(digit));
    expect(keys).toEqual([2, 4, 6, 7, 1, 5, 3]);
  });

  test.each([
    [0, "0"],
    [-0, "0"],
    [5e-324, "5e-324"],
    [-1.7976931348623157e308, "-1.7976931348623157e+308"],
    [9007199254740992, "9007199254740992"],
    [295147905179352830000, "295147905179352830000"],
    [9.999999999999997e22, "9.999999999999997e+22"],
    [1e23, "1e+23"],
    [0.000001, "0.000001"],
    [333333333.33333325, "333333333.33333325"],
  ])("writes %d as %s (RFC 8785, appendix B)", (value, expected) => {
    expect(canonicalJson(value)).toBe(expected);
  });

  test("leaves out what is undefined, and is blind to a prototype's name", () => {
    expect(canonicalJson({ b: 1, a: undefined } as never)).toBe('{"b":1}');
    expect(canonicalJson(JSON.parse('{"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1}}');
  });

  const values = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>;

  /** The same value with the members of every object in reverse. */
  function reversed(value: Json): Json {
    if (Array.isArray(value)) return value.map(reversed);
    if (value === null || typeof value !== "object") return value;
    return Object.fromEntries(
      Object.entries(value)
        .reverse()
        .map(([key, member]) => [key, reversed(member)]),
    );
  }

  test("is the same for the same value, whatever the order of its keys, and says it again (property)", () => {
    fc.assert(
      fc.property(values, (value) => {
        const canonical = canonicalJson(value);
        expect(canonicalJson(reversed(value))).toBe(canonical);
        expect(canonicalJson(JSON.parse(canonical))).toBe(canonical);
        expect(JSON.parse(canonical)).toEqual(JSON.parse(JSON.stringify(value)));
      }),
      { numRuns: 300 },
    );
  });

  test("is equal exactly for equal values (property)", () => {
    const near = fc.tuple(values, values).chain(([one, other]) => fc.constantFrom([one, one], [one, other]));
    const pairs = fc.oneof(near, fc.tuple(smallValues(), smallValues()));
    fc.assert(
      fc.property(pairs, ([one, other]) => {
        const isEqual = Bun.deepEquals(
          JSON.parse(JSON.stringify(one)),
          JSON.parse(JSON.stringify(other)),
          true,
        );
        expect(canonicalJson(one as Json) === canonicalJson(other as Json)).toBe(isEqual);
      }),
      { numRuns: 500 },
    );
  });

  /** So few values that two of them are often equal, or nearly so. */
  function smallValues(): fc.Arbitrary<Json> {
    const leaf = fc.constantFrom<Json>(0, 1, "", "0", "a", null, false, [], {});
    const key = fc.constantFrom("a", "b", "0");
    return fc.oneof(leaf, fc.array(leaf, { maxLength: 2 }), fc.dictionary(key, leaf, { maxKeys: 2 }));
  }
});

describe("texts", () => {
  test("characters are code points (property)", () => {
    fc.assert(
      fc.property(texts, (text) => expect(codePoints(text)).toBe([...text].length)),
      { numRuns: 500 },
    );
  });

  test("an excerpt is a beginning that ends with a whole character (property)", () => {
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), fc.nat(20), (text, unitsMax) => {
        const cut = excerpt(text, unitsMax);
        expect(text.startsWith(cut)).toBe(true);
        expect(cut.length).toBeLessThanOrEqual(unitsMax);
        expect(cut.length).toBeGreaterThanOrEqual(Math.min(text.length, unitsMax - 1));
        expect(cut.isWellFormed()).toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  test.each([
    ["", true],
    ["Grüße 😀\t", true],
    ["a\rb", false],
    ["a\nb", false],
    ["a\0b", false],
    ["a\r\nBcc: b@example.com", false],
  ])("%j fits a header: %p", (text, expected) => {
    expect(isHeaderSafe(text)).toBe(expected);
  });

  test("times are RFC 3339 in UTC, and come back", () => {
    expect(rfc3339(0)).toBe("1970-01-01T00:00:00.000Z");
    expect(epochMs(rfc3339(1_900_000_000_123))).toBe(1_900_000_000_123);
  });
});

describe("domains", () => {
  const labels = fc.string({ unit: fc.constantFrom("a", "b", "x", "n", "0", "1", "-", "é"), maxLength: 6 });
  const domains = fc.array(labels, { minLength: 1, maxLength: 4 }).map((parts) => parts.join("."));

  test("that are in ASCII already are what the whole conversion makes of them", () => {
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

describe("API keys", () => {
  const BASE62 = [..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"];

  test("have their form, name their id, and are all different", () => {
    const keys = Array.from({ length: 200 }, newApiKey);
    for (const { id, key } of keys) {
      expect(key).toMatch(/^pl_[0-9A-Za-z]{50}$/);
      expect(apiKeyId(key)).toBe(id);
    }
    expect(new Set(keys.map(({ id }) => id)).size).toBe(keys.length);
    expect(new Set(keys.map(({ key }) => key.slice(15, 47))).size).toBe(keys.length);
  });

  test("are no longer keys after any single change", () => {
    const { key } = newApiKey();
    let changes = 0;
    for (let index = 3; index < key.length; index += 1) {
      for (const other of BASE62.filter((character) => character !== key[index])) {
        changes += 1;
        expect(apiKeyId(key.slice(0, index) + other + key.slice(index + 1))).toBeNull();
      }
    }
    expect(changes).toBe(50 * 61);
  });

  test("are no longer keys with two neighbours swapped, cut, or longer (property)", () => {
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 51 }), (index) => {
        const { key } = newApiKey();
        const swapped = `${key.slice(0, index)}${key[index + 1]}${key[index]}${key.slice(index + 2)}`;
        if (swapped !== key) expect(apiKeyId(swapped)).toBeNull();
        expect(apiKeyId(key.slice(0, index))).toBeNull();
        expect(apiKeyId(`${key}0`)).toBeNull();
        expect(apiKeyId(`${key}\n`)).toBeNull();
      }),
      { numRuns: 100 },
    );
  });

  test.each(["", "pl_", "pl_x", "sk_0123456789", `pl_${"0".repeat(50)}`])("%j is no key", (text) => {
    expect(apiKeyId(text)).toBeNull();
  });
});

describe("encrypted secrets", () => {
  const bytes = fc.uint8Array({ maxLength: 80 });

  test("open under their key, and only there (property)", () => {
    fc.assert(
      fc.property(bytes, (plain) => {
        const key = newDataKey();
        const encrypted = encrypt(key, plain);
        expect(new Uint8Array(decrypt(key, encrypted) ?? [255])).toEqual(plain);
        expect(decrypt(newDataKey(), encrypted)).toBeNull();
        expect(encrypt(key, plain)).not.toBe(encrypted);
      }),
      { numRuns: 50 },
    );
  });

  test("do not open when any byte was changed, cut off or added (property)", () => {
    const key = newDataKey();
    fc.assert(
      fc.property(bytes, fc.nat(), fc.integer({ min: 1, max: 255 }), (plain, at, change) => {
        const encrypted = Buffer.from(encrypt(key, plain), "base64");
        const altered = Buffer.from(encrypted);
        const index = at % encrypted.length;
        altered[index] = (altered[index] ?? 0) ^ change;
        expect(decrypt(key, altered.toString("base64"))).toBeNull();
        expect(decrypt(key, encrypted.subarray(0, index).toString("base64"))).toBeNull();
        expect(decrypt(key, Buffer.concat([encrypted, Buffer.of(change)]).toString("base64"))).toBeNull();
      }),
      { numRuns: 200 },
    );
  });

  test("what is no encrypted secret is not decrypted", () => {
    for (const text of ["", "AAAA", "not base64 at all!"]) expect(decrypt(newDataKey(), text)).toBeNull();
  });
});

describe("an instance's keys", () => {
  const dataKey = newDataKey();
  const keys = instanceKeys(dataKey);

  test("say the same after a restart, and something else on another instance", () => {
    const again = instanceKeys(dataKey);
    const other = instanceKeys(newDataKey());
    for (const hash of [keys.hashAddress("w", "a@b.co"), keys.fingerprint("w", "{}"), keys.hashApiKey("k")])
      expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(again.hashAddress("w", "a@b.co")).toBe(keys.hashAddress("w", "a@b.co"));
    expect(other.hashAddress("w", "a@b.co")).not.toBe(keys.hashAddress("w", "a@b.co"));
    const shop = { workspaceId: "w1", endpointId: "e1" };
    const secret = Buffer.from("s");
    const encrypted = keys.encryptSecret(secret, shop);
    expect(again.decryptSecret(encrypted, shop)).toEqual(secret);
    expect(other.decryptSecret(encrypted, shop)).toBeNull();
    // Moved to another endpoint or workspace, or passed off as one from before secrets were bound.
    for (const moved of [
      { ...shop, endpointId: "e2" },
      { ...shop, workspaceId: "w2" },
    ]) {
      expect(keys.decryptSecret(encrypted, moved)).toBeNull();
    }
    expect(keys.decryptSecret(encrypted.replace("v2.", ""), shop)).toBeNull();
    const unbound = encrypt(deriveKey(dataKey, "secret"), secret);
    expect(keys.decryptSecret(unbound, shop)).toEqual(secret);
    expect(keys.decryptSecret(`v2.${unbound}`, shop)).toBeNull();
  });

  test("tell workspaces and purposes apart", () => {
    expect(keys.hashAddress("w", "a@b.co")).not.toBe(keys.hashAddress("x", "a@b.co"));
    expect(keys.hashAddress("w", "a")).not.toBe(keys.fingerprint("w", "a"));
    expect(deriveKey(dataKey, "one")).not.toEqual(deriveKey(dataKey, "other"));
  });

  test("texts are compared by what they are", () => {
    expect(equalInConstantTime("abc", "abc")).toBe(true);
    for (const other of ["abd", "ab", "abcd", ""]) expect(equalInConstantTime("abc", other)).toBe(false);
  });
});

describe("ids", () => {
  test("are uuids, and one key has one", () => {
    const workspace = newId();
    for (const id of [workspace, emailId({ workspaceId: workspace, isTest: false }, "order-1001")])
      expect(isUuid(id)).toBe(true);
    expect(isUuid(workspace.toUpperCase())).toBe(true);
    expect(emailId({ workspaceId: workspace, isTest: false }, "order-1001")).toBe(
      emailId({ workspaceId: workspace, isTest: false }, "order-1001"),
    );
    expect(emailId({ workspaceId: workspace, isTest: false }, "order-1001")).not.toBe(
      emailId({ workspaceId: workspace, isTest: false }, "Order-1001"),
    );
    expect(emailId({ workspaceId: workspace, isTest: false }, "order-1001")).not.toBe(
      emailId({ workspaceId: newId(), isTest: false }, "order-1001"),
    );
    expect(
      emailId({ workspaceId: "6ba7b810-9dad-11d1-80b4-00c04fd430c8", isTest: false }, "www.example.com"),
    ).toBe("2ed6657d-e927-568b-95e1-2665a8aea6a2");
    expect(newRequestId()).toMatch(/^[0-9a-z]{20}$/);
  });

  test.each(["", "x", `${newId()}0`, newId().slice(1), newId().replaceAll("-", "")])(
    "%j is no uuid",
    (text) => {
      expect(isUuid(text)).toBe(false);
    },
  );
});

describe("addresses", () => {
  test.each([
    ["ana@example.com", "ana@example.com", "ana@example.com"],
    ["Ana.B+Tag@EXAMPLE.Com", "Ana.B+Tag@example.com", "ana.b+tag@example.com"],
    ["ana@bücher.example", "ana@xn--bcher-kva.example", "ana@xn--bcher-kva.example"],
    ["o'hara!#$%&*+/=?^_`{|}~-@a.co", "o'hara!#$%&*+/=?^_`{|}~-@a.co", "o'hara!#$%&*+/=?^_`{|}~-@a.co"],
    [`${"a".repeat(64)}@a.co`, `${"a".repeat(64)}@a.co`, `${"a".repeat(64)}@a.co`],
    ["a@1.example.com", "a@1.example.com", "a@1.example.com"],
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

  test("what passes is header-safe ASCII, and passes again as itself (property)", () => {
    const shaped = fc.tuple(texts, texts).map((parts) => `a${parts[0]}@${parts[1]}example.com`);
    fc.assert(
      fc.property(fc.oneof(texts, fc.emailAddress(), shaped), (text) => {
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

describe("the codec", () => {
  const content = fc.record({
    from: fc.constant("shop@example.com"),
    to: fc.constant("ana@example.com"),
    subject: texts,
    text: fc.oneof(
      texts,
      fc.integer({ min: 0, max: 20_000 }).map((length) => "äb".repeat(length)),
    ),
    metadata: fc.dictionary(fc.string(), fc.oneof(fc.string(), fc.integer(), fc.boolean()), {
      noNullPrototype: true,
    }),
    variables: fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }),
  }) as fc.Arbitrary<EmailContent>;

  test("gives back what it was given, compressed or not (property)", () => {
    fc.assert(
      fc.property(content, (given) => {
        const data = { salt: "salt", content: given };
        const event = throughStore(emailCodec, { type: "EmailContentStored", data });
        expect(event.data).toEqual(JSON.parse(JSON.stringify(data)));
      }),
      { numRuns: 150 },
    );
  });

  const long = { salt: "s", content: { from: "a", to: "b", subject: "c", text: "long ".repeat(2_000) } };
  const packed = encodeData(long, JSON.stringify(long).length) as Uint8Array;

  test("compresses what is long, and nothing else", () => {
    expect(packed).toBeInstanceOf(Uint8Array);
    expect(packed.length).toBeLessThan(1_000);
    expect(encodeData({ a: 1 }, COMPRESS_ABOVE_BYTES)).toEqual({ a: 1 });
    expect(emailCodec.decode({ type: "EmailContentStored", data: packed }).data).toEqual(long);
  });

  test.each<[string, string, object]>([
    ["an unknown type", "EmailLaunched", {}],
    ["a type that only the prototype has", "toString", {}],
    ["a missing field", "EmailSent", { attempt: 1, transport: "smtp" }],
    ["a field of another type", "EmailSent", { attempt: "1", transport: "smtp", reply: "" }],
    ["a fraction for a whole number", "EmailSent", { attempt: 1.5, transport: "smtp", reply: "" }],
    ["a list for an object", "EmailSent", []],
    ["half of the compressed bytes", "EmailContentStored", packed.subarray(0, packed.length >> 1)],
    ["no bytes", "EmailContentStored", new Uint8Array()],
    ["other bytes", "EmailContentStored", new TextEncoder().encode('{"salt":"s"}')],
    ["compressed text that is no JSON", "EmailContentStored", Bun.zstdCompressSync("{")],
    ["compressed JSON of another shape", "EmailContentStored", Bun.zstdCompressSync('{"a":1}')],
    ["compressed null", "EmailContentStored", Bun.zstdCompressSync("null")],
  ])("refuses %s", (_, type, data) => {
    expect(() => emailCodec.decode({ type, data })).toThrow(UnreadableEventError);
  });

  test("keeps fields that a newer version has added", () => {
    const data = { attempt: 1, transport: "smtp", reply: "", added: true };
    expect(emailCodec.decode({ type: "EmailSent", data }).data).toEqual(data);
  });

  test("says what is wrong without saying what was written", () => {
    const secret = { salt: "s", content: { from: "ana@example.com", to: 1, subject: "c" } };
    expect(() => emailCodec.decode({ type: "EmailContentStored", data: secret })).toThrow(/^(?!.*ana@)/s);
  });
});

describe("a whole number from outside", () => {
  test.each([
    "",
    " 1",
    "1 ",
    "+1",
    "-1",
    "1e3",
    "0x10",
    "12, 12",
    "1.0",
    "NaN",
    "Infinity",
    "١",
    "9007199254740992",
  ])("is not %j", (text) => {
    expect(wholeNumber(text)).toBeNull();
  });

  test("is what its digits say, within its bounds", () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), (value) => {
        expect(wholeNumber(String(value))).toBe(value);
      }),
    );
    expect(wholeNumber("007", { min: 7, max: 7 })).toBe(7);
    expect(wholeNumber("6", { min: 7 })).toBeNull();
    expect(wholeNumber("8", { max: 7 })).toBeNull();
  });
});

describe("the nearest name", () => {
  test.each<[string, readonly string[], string | null]>([
    ["nme", ["count", "name"], "name"],
    ["Name", ["count", "name"], "name"],
    ["nmae", ["count", "name"], "name"],
    ["order_id", ["order", "orderId", "id"], "orderId"],
    ["total", ["totals", "total_", "tota"], "totals"],
    ["shop", ["count", "name"], null],
    ["x", ["y", "z"], null],
    ["xy", ["xyz"], "xyz"],
    ["name", [], null],
  ])("to %s among %p is %p", (given, names, expected) => {
    expect(nearestName(given, names)).toBe(expected);
  });
});

test("numbers for people are grouped, and what is counted agrees with them", () => {
  expect([999, 1_000, 5_000_000].map(grouped)).toEqual(["999", "1,000", "5,000,000"]);
  expect([0, 1, 2].map((count) => counted(count, "delivery", "deliveries"))).toEqual([
    "0 deliveries",
    "1 delivery",
    "2 deliveries",
  ]);
});

test.each([
  [0, "0 bytes"],
  [1, "1 byte"],
  [999, "999 bytes"],
  [1_000, "1 kB"],
  [1_587, "1.5 kB"],
  [5_000_000, "5 MB"],
  [268_435_456, "268 MB"],
  [82_385_686_528, "82 GB"],
  [10 ** 18, "1000 PB"],
])("%p bytes are told as %p", (bytes, told) => {
  expect(bytesText(bytes)).toBe(told);
});

describe("what is made when it is first asked for", () => {
  test("is made once", () => {
    let made = 0;
    const value = lazy(() => {
      made += 1;
      return undefined;
    });
    expect(made).toBe(0);
    expect([value(), value()]).toEqual([undefined, undefined]);
    expect(made).toBe(1);
  });

  test("is tried again after a failure", () => {
    const outcomes = [new Error("not yet"), "there"];
    const value = lazy(() => {
      const outcome = outcomes.shift();
      if (outcome instanceof Error) throw outcome;
      return outcome;
    });
    expect(value).toThrow("not yet");
    expect([value(), value()]).toEqual(["there", "there"]);
  });
});
