import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { reasonOf } from "../../src/kernel/text/errorReason.ts";
import { isHeaderSafe } from "../../src/kernel/text/isHeaderSafe.ts";
import { nearestName } from "../../src/kernel/text/nearestName.ts";
import { bytesText, counted, grouped } from "../../src/kernel/text/readableNumbers.ts";
import { codePoints, excerpt } from "../../src/kernel/text/textLength.ts";
import { wholeNumber } from "../../src/kernel/text/wholeNumber.ts";
import { epochMs, rfc3339 } from "../../src/kernel/time.ts";
import { anyText } from "../support/anyText.ts";

describe("texts", () => {
  test("characters are code points (property)", () => {
    fc.assert(
      fc.property(anyText, (text) => expect(codePoints(text)).toBe([...text].length)),
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
    ["a\u001b[31mb", false],
    ["a\u007fb", false],
    ["a\u0085b", false],
    ["a\u009b31mb", false],
    ["הזמנה \u2068Example\u2069 \u200f4711", true],
    ["a\r\nBcc: b@example.com", false],
  ])("%j fits a header: %p", (text, expected) => {
    expect(isHeaderSafe(text)).toBe(expected);
  });

  test("times are RFC 3339 in UTC, and parse back", () => {
    expect(rfc3339(0)).toBe("1970-01-01T00:00:00.000Z");
    expect(epochMs(rfc3339(1_900_000_000_123))).toBe(1_900_000_000_123);
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

  test("has the value of its digits, within its bounds", () => {
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
])("%p bytes are shown as %p", (bytes, expected) => {
  expect(bytesText(bytes)).toBe(expected);
});

test("the reason in a log line names the cause of an error, and quotes it once", () => {
  const cause = new Error("connection refused");
  const reason = (message: string) => reasonOf(new TypeError(message, { cause }));
  expect(reason("the log cannot be read")).toBe("TypeError: the log cannot be read (connection refused)");
  expect(reason("no log: connection refused")).toBe("TypeError: no log: connection refused");
});
