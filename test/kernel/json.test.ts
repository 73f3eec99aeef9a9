import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { canonicalJson, type Json } from "../../src/kernel/text/json.ts";

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

  test("leaves out undefined fields, and treats __proto__ as any other name", () => {
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

  test("is the same for the same value in any key order, and parses back to it (property)", () => {
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
