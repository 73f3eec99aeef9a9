import { expect, test } from "bun:test";
import fc from "fast-check";
import {
  decodeVerificationToken,
  encodeVerificationToken,
} from "../../src/kernel/crypto/verificationToken.ts";

const hex32 = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString("hex"));
const tokens = fc.record({ senderId: hex32, requestId: fc.uuid(), secret: hex32 });

const BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

test("a token survives conversion to text and back, and the text fits into a path", () => {
  fc.assert(
    fc.property(tokens, (token) => {
      const text = encodeVerificationToken(token);
      expect(text).toMatch(/^[A-Za-z0-9_-]{107}$/);
      expect(decodeVerificationToken(text)).toEqual(token);
    }),
  );
});

test("a text that differs in one character is another token or none", () => {
  const alphabet = fc.constantFrom(...BASE64URL, ..."=+/. ");
  fc.assert(
    fc.property(tokens, fc.nat(106), alphabet, (token, index, other) => {
      const text = encodeVerificationToken(token);
      fc.pre(text[index] !== other);
      const altered = text.slice(0, index) + other + text.slice(index + 1);
      expect(decodeVerificationToken(altered)).not.toEqual(token);
    }),
  );
});

test("the last character has spare bits, but only one spelling is valid", () => {
  fc.assert(
    fc.property(tokens, (token) => {
      const start = encodeVerificationToken(token).slice(0, -1);
      const spellings = [...BASE64URL].filter(
        (last) => decodeVerificationToken(start + last)?.secret === token.secret,
      );
      expect(spellings).toHaveLength(1);
    }),
    { numRuns: 20 },
  );
});

test.each(["", "short", "A".repeat(106), "A".repeat(108), "é".repeat(107), ":token", "../".repeat(30)])(
  "%p is no token",
  (text) => {
    expect(decodeVerificationToken(text)).toBeNull();
  },
);
