import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { apiKeyId, newApiKey } from "../../src/kernel/crypto/apiKeyFormat.ts";

describe("API keys", () => {
  const BASE62 = [..."0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"];

  test("have the key format, contain their id, and all differ", () => {
    const keys = Array.from({ length: 200 }, () => newApiKey());
    for (const { id, key } of keys) {
      expect(key).toMatch(/^pl_[0-9A-Za-z]{50}$/);
      expect(apiKeyId(key)).toBe(id);
    }
    expect(new Set(keys.map(({ id }) => id)).size).toBe(keys.length);
    expect(new Set(keys.map(({ key }) => key.slice(15, 47))).size).toBe(keys.length);
  });

  test("are invalid after any change of one character", () => {
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

  test("are invalid when two neighbours are swapped, when cut or when longer (property)", () => {
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
