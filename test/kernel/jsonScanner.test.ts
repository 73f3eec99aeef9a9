import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseJson } from "../../src/kernel/text/json.ts";
import { JsonScanner } from "../../src/kernel/text/jsonScanner.ts";

function isJson(text: string): boolean {
  return parseJson(text) !== undefined;
}

/** A scanner's result for a text read in steps of so many characters. */
function scanned(text: string, stepChars: number) {
  const scanner = new JsonScanner(text);
  while (scanner.goOn(stepChars));
  const { at, expected, isWhole } = scanner;
  return { at, isWhole, expected: isWhole ? null : expected };
}

const token = fc.constantFrom(
  ...'[]{}:,"\\/ \t\n\r\f\u0000\u001f\u007f\u00a0\u2028\ufeff\ud800é🎩0123456789.eE+-uabntrfx',
  ...'true false null -0 01 1e5 1.5 \\u00e9 \\uD800 \\x "a" "a":1 ,"a":1 [] {} NaN Infinity \''.split(" "),
);
const json = fc
  .tuple(fc.json({ maxDepth: 4 }), fc.nat({ max: 3 }))
  .map(([text, indent]) => JSON.stringify(JSON.parse(text), null, indent));
const mutation = fc.record({ at: fc.nat(), removed: fc.nat({ max: 3 }), put: fc.option(token, { nil: "" }) });
const mutated = fc.tuple(json, fc.array(mutation, { minLength: 1, maxLength: 3 })).map(([text, mutations]) =>
  mutations.reduce((changed, { at, removed, put }) => {
    const place = at % (changed.length + 1);
    return changed.slice(0, place) + put + changed.slice(place + removed);
  }, text),
);
const texts = fc.array(token, { maxLength: 12 }).map((parts) => parts.join(""));
const text = fc.oneof(json, mutated, mutated, texts, fc.string({ unit: "binary" }));

test("a scanner accepts the same JSON as the engine's parser, in steps of any length", () => {
  const stepChars = fc.integer({ min: 1, max: 40 });
  fc.assert(
    fc.property(text, stepChars, (given, chars) => {
      const found = scanned(given, chars);
      expect(found.isWhole).toBe(isJson(given));
      expect(found).toEqual(scanned(given, Infinity));
    }),
    { numRuns: 3_000 },
  );
});

test("the part of a text before a syntax error can be completed to JSON", () => {
  const continuations: Readonly<Record<string, (ends: string) => readonly string[]>> = {
    "a value": (ends) => [`0${ends}`],
    "a member's name in double quotes": (ends) => [`"":0${ends}`],
    "a colon": (ends) => [`:0${ends}`],
    "the end of a string": (ends) => [`"${ends}`, `":0${ends}`],
    "an escape that JSON has": (ends) => [`\\n"${ends}`, `\\n":0${ends}`],
    "no control character in a string": (ends) => [`"${ends}`, `":0${ends}`],
    "a comma or ]": (ends) => [`,0${ends}`],
    "a comma or }": (ends) => [`,"":0${ends}`],
    "nothing more": () => [""],
  };
  fc.assert(
    fc.property(text, (given) => {
      const { at, expected } = scanned(given, Infinity);
      if (expected === null) return;
      const read = given.slice(0, at);
      const ends = closingOf(read);
      expect(continuations[expected]?.(ends).some((rest) => isJson(read + rest))).toBeTrue();
    }),
    { numRuns: 3_000 },
  );
});

/** The brackets that close everything open in the beginning of a JSON text. */
function closingOf(read: string): string {
  const marks = read.replace(/"(?:[^"\\]|\\.)*(?:"|$)/g, "").match(/[[\]{}]/g) ?? [];
  const open: string[] = [];
  for (const mark of marks) {
    if (mark === "[" || mark === "{") open.unshift(mark === "[" ? "]" : "}");
    else open.shift();
  }
  return open.join("");
}

test("any nesting is read, without recursion", () => {
  const levels = 1_000_000;
  expect(scanned("[".repeat(levels) + "]".repeat(levels), 1_000)).toMatchObject({ isWhole: true });
});

test("reading ends as soon as there are too many levels", () => {
  for (const [text, isTooDeep, at] of [
    ['[{"a":[]},[[]]]', false, 15],
    ['[{"a":[[]]}]', true, 8],
    ["[".repeat(1_000_000), true, 4],
  ] as const) {
    const scanner = new JsonScanner(text, 3);
    scanner.goOn(Infinity);
    expect(scanner).toMatchObject({ isTooDeep, at });
  }
});
