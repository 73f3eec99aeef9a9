import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { csvField, guardFormulas, unguardFormulas } from "../../src/kernel/text/guardFormulas.ts";

describe("a text that may be a formula", () => {
  test.each([
    ["=1+1", "'=1+1"],
    ["+49", "'+49"],
    ["-1", "'-1"],
    ["@SUM", "'@SUM"],
    ["|cmd", "'|cmd"],
    ["＝1+1", "'＝1+1"],
    [" =1", "' =1"],
    ["\t=1", "'\t'=1"],
    ["\n=1", "'\n'=1"],
    ["a;=1+1", "a;'=1+1"],
    [";=1+1", ";'=1+1"],
    ["a; -1+1", "a; '-1+1"],
    ["a\n@SUM(1)", "a\n'@SUM(1)"],
    // What looks guarded already is guarded once more.
    ["'=1", "''=1"],
    [" '=1", "' '=1"],
    ["a;'=1", "a;''=1"],
    ["plain", "plain"],
    ["'plain'", "'plain'"],
    ["Hello ;-)", "Hello ;-)"],
    ["a =1", "a =1"],
  ])("%p becomes %p, and is read back", (text, guarded) => {
    expect(guardFormulas(text)).toBe(guarded);
    expect(unguardFormulas(guarded)).toBe(text);
  });

  test("is read back whatever it is, and no cell of it begins a formula", () => {
    const unit = fc.constantFrom(..."'=+-@|＝;\t\r\n )a");
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 12 }), (text) => {
        const guarded = guardFormulas(text);
        expect(unguardFormulas(guarded)).toBe(text);
        for (const cell of guarded.split(/[;\t\r\n]/)) expect(cell).not.toMatch(/^\s*([=+@|＝]|-(?!\)))/);
      }),
      { numRuns: 2_000 },
    );
  });
});

describe("a field of CSV", () => {
  test.each([
    ["=1+1", "'=1+1"],
    ["a,b", '"a,b"'],
    ['"', '""""'],
    ["a\nb", '"a\nb"'],
    ["a\n@SUM(1)", '"a\n\'@SUM(1)"'],
    ["", ""],
    ["plain", "plain"],
  ])("%p is %p", (text, field) => expect(csvField(text)).toBe(field));
});
