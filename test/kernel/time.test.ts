import { expect, test } from "bun:test";
import fc from "fast-check";
import { parseDateTime, parseRangeEnd, rfc3339 } from "../../src/kernel/time.ts";

test("digits below a millisecond, however many, change no time but move the end of a range up (property)", () => {
  const times = fc.integer({ min: 0, max: Date.parse("2100-01-01T00:00:00Z") });
  const digits = fc.stringMatching(/^[0-9]{1,12}$/);
  fc.assert(
    fc.property(times, digits, (at, below) => {
      const text = rfc3339(at).replace("Z", `${below}Z`);
      expect(parseDateTime(text)).toBe(at);
      expect(parseRangeEnd(text)).toBe(/[1-9]/.test(below) ? at + 1 : at);
    }),
  );
});

test("a fraction that begins with zeros is read like any other", () => {
  for (let ms = 0; ms < 100; ms += 1) {
    const at = Date.parse("2030-01-01T00:00:00Z") + ms;
    expect(parseDateTime(rfc3339(at).replace("Z", "0000001Z"))).toBe(at);
  }
});
