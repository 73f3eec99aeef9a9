import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { decrypt, encrypt } from "../../src/kernel/crypto/encryption.ts";
import { equalInConstantTime } from "../../src/kernel/crypto/equalInConstantTime.ts";
import { deriveKey, instanceKeys, newDataKey } from "../../src/kernel/crypto/instanceKeys.ts";

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

  test("do not open when any byte was changed, removed or added (property)", () => {
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

  test("bytes that are not an encrypted secret are not decrypted", () => {
    for (const text of ["", "AAAA", "not base64 at all!"]) expect(decrypt(newDataKey(), text)).toBeNull();
  });
});

describe("an instance's keys", () => {
  const dataKey = newDataKey();
  const keys = instanceKeys(dataKey);

  test("are the same after a restart, and differ on another instance", () => {
    const sameKeys = instanceKeys(dataKey);
    const other = instanceKeys(newDataKey());
    for (const hash of [keys.hashAddress("w", "a@b.co"), keys.fingerprint("w", "{}"), keys.hashApiKey("k")])
      expect(hash).toMatch(/^[0-9a-f]{64}$/);
    expect(sameKeys.hashAddress("w", "a@b.co")).toBe(keys.hashAddress("w", "a@b.co"));
    expect(other.hashAddress("w", "a@b.co")).not.toBe(keys.hashAddress("w", "a@b.co"));
    const shop = { workspaceId: "w1", endpointId: "e1" };
    const secret = Buffer.from("s");
    const encrypted = keys.encryptSecret(secret, shop);
    expect(sameKeys.decryptSecret(encrypted, shop)).toEqual(secret);
    expect(other.decryptSecret(encrypted, shop)).toBeNull();
    // Moved to another endpoint or workspace, or disguised as one from before secrets were bound.
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

  test("differ between workspaces and purposes", () => {
    expect(keys.hashAddress("w", "a@b.co")).not.toBe(keys.hashAddress("x", "a@b.co"));
    expect(keys.hashAddress("w", "a")).not.toBe(keys.fingerprint("w", "a"));
    expect(deriveKey(dataKey, "one")).not.toEqual(deriveKey(dataKey, "other"));
  });

  test("of metadata are of the name and of the value as text", () => {
    const hash = keys.hashMetadata("w", "order", "4711");
    expect(hash).toMatch(/^[0-9a-f]{32}$/);
    expect(keys.hashMetadata("w", "order", 4711)).toBe(hash);
    expect(keys.hashMetadata("w", "paid", true)).toBe(keys.hashMetadata("w", "paid", "true"));
    const others = [
      keys.hashMetadata("x", "order", "4711"),
      keys.hashMetadata("w", "orde", "r4711"),
      keys.hashMetadata("w", "a\nb", "c"),
      keys.hashMetadata("w", "a", "b\nc"),
      keys.hashMetadata("w", 'a","b', "c"),
      keys.hashMetadata("w", "a", 'b","c'),
    ];
    expect(new Set([hash, ...others]).size).toBe(others.length + 1);
  });

  test("texts are compared by content", () => {
    expect(equalInConstantTime("abc", "abc")).toBe(true);
    for (const other of ["abd", "ab", "abcd", ""]) expect(equalInConstantTime("abc", other)).toBe(false);
  });
});
