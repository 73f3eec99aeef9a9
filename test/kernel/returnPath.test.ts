import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { instanceKeys, newDataKey } from "../../src/kernel/crypto/instanceKeys.ts";
import { RETURN_PATH_DAYS, readReturnPath, returnPathLocalPart } from "../../src/kernel/crypto/returnPath.ts";
import { DAY_MS } from "../../src/kernel/time.ts";

const NOW = Date.parse("2030-06-01T12:00:00Z");
const LOCAL_PART_CHARACTERS_MAX = 48;
const ALPHABET = "abcdefghijklmnopqrstuvwxyz234567";
const keys = instanceKeys(newDataKey());

const paths = fc.record({ emailId: fc.uuid(), attempt: fc.integer({ min: 1, max: 1_023 }) });

describe("the envelope sender of an attempt (properties):", () => {
  test("names the message and the attempt, in lower-case letters and digits, in 48 characters", () => {
    fc.assert(
      fc.property(paths, (path) => {
        const local = returnPathLocalPart(keys, path, NOW);
        expect(local).toMatch(/^[a-z2-7]+$/);
        expect(local).toHaveLength(LOCAL_PART_CHARACTERS_MAX);
        expect(readReturnPath(keys, local, NOW)).toEqual(path);
        // Servers change the case.
        expect(readReturnPath(keys, local.toUpperCase(), NOW)).toEqual(path);
      }),
    );
  });

  test("cannot be forged: with any other character, of another installation, or made up", () => {
    fc.assert(
      fc.property(paths, fc.nat(LOCAL_PART_CHARACTERS_MAX - 1), fc.nat(30), (path, at, shift) => {
        const local = returnPathLocalPart(keys, path, NOW);
        const old = local[at] ?? "";
        const other = ALPHABET[(ALPHABET.indexOf(old) + 1 + shift) % ALPHABET.length] ?? "";
        expect(other).not.toBe(old);
        expect(readReturnPath(keys, local.slice(0, at) + other + local.slice(at + 1), NOW)).toBeNull();
      }),
    );
    const local = returnPathLocalPart(keys, { emailId: crypto.randomUUID(), attempt: 1 }, NOW);
    expect(readReturnPath(instanceKeys(newDataKey()), local, NOW)).toBeNull();
    for (const text of [
      "",
      "a",
      local.slice(1),
      `${local}a`,
      ` ${local}`,
      "a".repeat(LOCAL_PART_CHARACTERS_MAX),
    ])
      expect(readReturnPath(keys, text, NOW)).toBeNull();
  });

  test("is valid for its time, and not a day longer", () => {
    const path = { emailId: crypto.randomUUID(), attempt: 3 };
    const local = returnPathLocalPart(keys, path, NOW);
    expect(readReturnPath(keys, local, NOW + RETURN_PATH_DAYS * DAY_MS)).toEqual(path);
    expect(readReturnPath(keys, local, NOW + (RETURN_PATH_DAYS + 1) * DAY_MS)).toBeNull();
  });

  test("stays unchanged for attempts beyond the highest that it can name", () => {
    const emailId = crypto.randomUUID();
    const local = returnPathLocalPart(keys, { emailId, attempt: 5_000 }, NOW);
    expect(readReturnPath(keys, local, NOW)).toEqual({ emailId, attempt: 1_023 });
  });
});
