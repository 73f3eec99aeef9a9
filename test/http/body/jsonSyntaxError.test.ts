import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { jsonSyntaxError } from "../../../src/http/body/jsonSyntaxError.ts";
import { parseJson } from "../../../src/kernel/text/json.ts";

function isJson(text: string): boolean {
  return parseJson(text) !== undefined;
}

describe("where a text is no JSON any more", () => {
  test.each<[string, number, number, string]>([
    ['{"a": 1,}', 1, 9, "a member's name in double quotes"],
    ['{"a": 1 "b": 2}', 1, 9, "a comma or }"],
    ['{\n  "a": 1\n  "b": 2\n}', 3, 3, "a comma or }"],
    ["{'a': 1}", 1, 2, "a member's name in double quotes"],
    ['{"a" 1}', 1, 6, "a colon"],
    ["[1 2]", 1, 4, "a comma or ]"],
    ["[1,]", 1, 4, "a value"],
    ['{"a": undefined}', 1, 7, "a value"],
    ['{"a": "b', 1, 9, "the end of a string"],
    ['{"a": "\n"}', 1, 8, "no control character in a string"],
    ['{"a": "\\x"}', 1, 8, "an escape that JSON has"],
    ['{"a": 1', 1, 8, "a comma or }"],
    ["{} {}", 1, 4, "nothing more"],
    ["01", 1, 2, "nothing more"],
    ["", 1, 1, "a value"],
    ['{"🎩": 🎩}', 1, 7, "a value"],
    ["\r\n\r\n[\r\n?", 4, 1, "a value"],
  ])("of %j", (text, line, column, expected) => {
    expect(isJson(text)).toBeFalse();
    expect(jsonSyntaxError(text)).toEqual({ line, column, expected });
  });

  test("is nowhere in what is JSON", () => {
    fc.assert(
      fc.property(fc.json(), fc.integer({ min: 0, max: 4 }), (text, indent) => {
        expect(jsonSyntaxError(JSON.stringify(JSON.parse(text), null, indent))).toBeNull();
      }),
    );
  });

  test("is somewhere in exactly what the engine refuses", () => {
    const brokenJson = fc.tuple(
      fc.json(),
      fc.nat(),
      fc.constantFrom("", ",", '"', "}", "]", "\\", "\n", "e", "-", "0"),
    );
    fc.assert(
      fc.property(brokenJson, ([text, nth, change]) => {
        const at = nth % (text.length + 1);
        const changed = text.slice(0, at) + change + text.slice(at + 1);
        expect(jsonSyntaxError(changed) === null).toBe(isJson(changed));
      }),
      { numRuns: 2_000 },
    );
  });

  test("is found in a body of the longest kind without holding anybody up for long", () => {
    const text = `{"a": "${"x".repeat(15_000_000)}", "b": }`;
    const startedAt = performance.now();
    expect(jsonSyntaxError(text)?.expected).toBe("a value");
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });
});
