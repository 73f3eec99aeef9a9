import { createPublicKey, type KeyObject } from "node:crypto";
import { parseTagList } from "./parseTagList.ts";

/** Receivers take no shorter key (RFC 8301). */
const RSA_KEY_BITS_MIN = 1_024;
const ED25519_KEY_BYTES = 32;

/** The key, which is mostly a SubjectPublicKeyInfo, and in some records an RSAPublicKey; null if it is neither. */
function rsaKeyOf(der: Buffer): KeyObject | null {
  for (const type of ["spki", "pkcs1"] as const) {
    try {
      return createPublicKey({ key: der, format: "der", type });
    } catch {}
  }
  return null;
}

/** Why the key in a DKIM record cannot verify anything; null if it can (RFC 6376 §3.6.1). */
export function dkimKeyFault(record: string): string | null {
  const tags = parseTagList(record);
  const [key = "", type = "rsa", version = "DKIM1"] = ["p", "k", "v"].map((name) => tags.get(name));
  if (version !== "DKIM1") return `v=${version} is not v=DKIM1`;
  const text = key.replace(/\s/g, "");
  if (text === "") return "the key was revoked: p= is empty";
  if (!/^[a-z0-9+/]+={0,2}$/i.test(text)) return "p= is not Base64";
  const der = Buffer.from(text, "base64");
  if (type === "ed25519")
    return der.length === ED25519_KEY_BYTES ? null : "p= is not an Ed25519 key of 32 bytes";
  if (type !== "rsa") return `receivers do not know the type of key k=${type}`;
  const bits = rsaKeyOf(der)?.asymmetricKeyDetails?.modulusLength;
  if (bits === undefined) return "p= is not an RSA key";
  return bits < RSA_KEY_BITS_MIN ? `the key has ${bits} bits, and receivers want ${RSA_KEY_BITS_MIN}` : null;
}
