import { createCipheriv, createDecipheriv, hkdfSync, randomBytes, timingSafeEqual } from "node:crypto";

const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Seals bytes with AES-256-GCM: base64 of nonce, tag and ciphertext. What is sealed with a `context` (its additional
 * authenticated data) opens with the same one alone.
 */
export function seal(key: Uint8Array, plain: Uint8Array, context = ""): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv("aes-256-gcm", key, nonce).setAAD(Buffer.from(context));
  const body = Buffer.concat([cipher.update(plain), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), body]).toString("base64");
}

/** The inverse of {@link seal}; null when the key or the context is another one or the text was altered. */
export function unseal(key: Uint8Array, sealed: string, context = ""): Uint8Array | null {
  const bytes = Buffer.from(sealed, "base64");
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv("aes-256-gcm", key, bytes.subarray(0, NONCE_BYTES));
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
  try {
    return Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]);
  } catch {
    return null;
  }
}

/** A fresh key for the instance: everything that is keyed derives from it. */
export function newDataKey(): Uint8Array {
  return randomBytes(KEY_BYTES);
}

/** A key for one purpose (HKDF-SHA-256, RFC 5869): no two purposes share one. */
export function deriveKey(secret: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, "postledger", purpose, KEY_BYTES));
}

/** Whether two texts are equal, in a time that does not tell where they differ. */
export function equalInConstantTime(left: string, right: string): boolean {
  const a = Buffer.from(left);
  const b = Buffer.from(right);
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Whose a sealed secret is. */
export interface SecretHolder {
  readonly workspaceId: string;
  readonly endpointId: string;
}

/** What stands before a secret that is bound to its endpoint; base64 has no such character. */
const BOUND = "v2.";

function contextOf({ workspaceId, endpointId }: SecretHolder): string {
  return `webhook secret\n${workspaceId}\n${endpointId}`;
}

/** The keyed functions of an instance. All hashes are HMAC-SHA-256 in lower-case hex. */
export interface InstanceKeys {
  hashApiKey(key: string): string;
  /** Names a sender's or recipient's stream: the address cannot be had back, nor guessed without the key. */
  hashAddress(workspaceId: string, canonicalAddress: string): string;
  /** Names what is counted for an address whoever asks: the same in every workspace. */
  hashAddressOfAll(canonicalAddress: string): string;
  /** What a domain's owner publishes to let this workspace send from it. */
  domainProof(workspaceId: string, domain: string): string;
  /** The secret of one verification link: made again from the same two ids whenever its mail is built. */
  verificationSecret(senderId: string, requestId: string): string;
  /** What a requester and whoever gets its verification mail compare; it opens nothing. */
  verificationCode(senderId: string, requestId: string): string;
  /** What two requests with one Idempotency-Key are compared by. */
  fingerprint(workspaceId: string, canonicalRequest: string): string;
  /**
   * Seals a text that has to go when an event goes: `salt` is random, and stands in that event alone. Without it nobody
   * can open the text, not even with the data key.
   */
  sealWithSalt(salt: string, text: string): string;
  /** The inverse of {@link InstanceKeys.sealWithSalt}; null with another salt. */
  unsealWithSalt(salt: string, sealed: string): string | null;
  /** Seals the signing secret of one endpoint: under another endpoint's name it does not open. */
  sealSecret(plain: Uint8Array, of: SecretHolder): string;
  /** The inverse of `sealSecret`. Secrets from before they were bound to their endpoint open for any. */
  unsealSecret(sealed: string, of: SecretHolder): Uint8Array | null;
}

/** No vowels, so that it spells nothing, and nothing that reads like something else. */
const CODE_LETTERS = "23456789BCDFGHJKMNPQRSTVWXZ";
const CODE_LENGTH = 8;

/** The beginning of a hash as people compare it: `K7QX-2M9P`. */
function comparable(hash: string): string {
  let rest = BigInt(`0x${hash}`);
  let code = "";
  while (code.length < CODE_LENGTH) {
    code += CODE_LETTERS[Number(rest % BigInt(CODE_LETTERS.length))];
    rest /= BigInt(CODE_LETTERS.length);
  }
  return `${code.slice(0, CODE_LENGTH / 2)}-${code.slice(CODE_LENGTH / 2)}`;
}

/** Derives the instance's keyed functions from its data key. */
export function instanceKeys(dataKey: Uint8Array): InstanceKeys {
  const apiKeyPepper = deriveKey(dataKey, "api-key");
  const addressKey = deriveKey(dataKey, "address");
  const fingerprintKey = deriveKey(dataKey, "fingerprint");
  const everyWorkspaceKey = deriveKey(dataKey, "address of all workspaces");
  const domainKey = deriveKey(dataKey, "sender domain");
  const verificationKey = deriveKey(dataKey, "sender verification");
  const secretKey = deriveKey(dataKey, "secret");
  const erasableKey = deriveKey(dataKey, "erasable text");
  const saltedKey = (salt: string) => new Bun.CryptoHasher("sha256", erasableKey).update(salt).digest();
  const hmac = (key: Uint8Array, text: string) =>
    new Bun.CryptoHasher("sha256", key).update(text).digest("hex");
  return {
    hashApiKey: (key) => hmac(apiKeyPepper, key),
    hashAddress: (workspaceId, address) => hmac(addressKey, `${workspaceId}\n${address}`),
    hashAddressOfAll: (address) => hmac(everyWorkspaceKey, address),
    domainProof: (workspaceId, domain) => hmac(domainKey, `${workspaceId}\n${domain}`),
    verificationSecret: (senderId, requestId) => hmac(verificationKey, `${senderId}\n${requestId}`),
    verificationCode: (senderId, requestId) =>
      comparable(hmac(verificationKey, `code\n${senderId}\n${requestId}`)),
    fingerprint: (workspaceId, request) => hmac(fingerprintKey, `${workspaceId}\n${request}`),
    sealWithSalt: (salt, text) => seal(saltedKey(salt), Buffer.from(text)),
    unsealWithSalt(salt, sealed) {
      const plain = unseal(saltedKey(salt), sealed);
      return plain === null ? null : new TextDecoder().decode(plain);
    },
    sealSecret: (plain, of) => BOUND + seal(secretKey, plain, contextOf(of)),
    unsealSecret: (sealed, of) =>
      sealed.startsWith(BOUND)
        ? unseal(secretKey, sealed.slice(BOUND.length), contextOf(of))
        : unseal(secretKey, sealed),
  };
}
