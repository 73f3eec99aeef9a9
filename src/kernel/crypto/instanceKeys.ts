import { hkdfSync, randomBytes } from "node:crypto";
import { decrypt, encrypt } from "./encryption.ts";

const KEY_BYTES = 32;

/** A fresh data key. Every other key of the instance is derived from it. */
export function newDataKey(): Uint8Array {
  return randomBytes(KEY_BYTES);
}

/** Derives the key of one purpose (HKDF-SHA-256, RFC 5869). */
export function deriveKey(secret: Uint8Array, purpose: string): Uint8Array {
  return new Uint8Array(hkdfSync("sha256", secret, "postledger", purpose, KEY_BYTES));
}

/** The endpoint that a signing secret belongs to. */
interface SecretOwner {
  readonly workspaceId: string;
  readonly endpointId: string;
}

/** The prefix of a secret that is bound to its endpoint. Base64 has no full stop. */
const BOUND_PREFIX = "v2.";

function contextOf({ workspaceId, endpointId }: SecretOwner): string {
  return `webhook secret\n${workspaceId}\n${endpointId}`;
}

/** The first 128 bits are enough to find something by, and take half the room. */
const SHORT_HASH_CHARACTERS = 32;

/** The keyed functions of an instance. All hashes are HMAC-SHA-256 in lower-case hex. */
export interface InstanceKeys {
  hashApiKey(key: string): string;
  /** Part of the name of a sender's or recipient's stream. Without the key nobody can test a guessed address. */
  hashAddress(workspaceId: string, canonicalAddress: string): string;
  /** Identifies an address across all workspaces, for limits that apply to the address itself. */
  hashAddressGlobally(canonicalAddress: string): string;
  /** The value of the DNS record that proves control of a domain for this workspace. */
  domainProof(workspaceId: string, domain: string): string;
  /** The secret of one verification link, derived again whenever the mail is built. */
  verificationSecret(senderId: string, requestId: string): string;
  /** A short code shown to the requester and in the mail, for people to compare. It grants nothing. */
  verificationCode(senderId: string, requestId: string): string;
  /** Finds and counts the messages with a tag, without the tag's name. */
  hashTag(workspaceId: string, tag: string): string;
  /**
   * Finds the messages with a name and value in their metadata, without either: the first 128 bits. A number or boolean
   * has the hash of its text in JSON, because whoever searches has only a text.
   */
  hashMetadata(workspaceId: string, name: string, value: string | number | boolean): string;
  /** Compares two requests with the same Idempotency-Key. */
  fingerprint(workspaceId: string, canonicalRequest: string): string;
  /**
   * Encrypts a text that must become unreadable when an event is erased. `salt` is random and stored in that event
   * only: without it nobody can decrypt the text, even with the data key.
   */
  encryptWithSalt(salt: string, text: string): string;
  /** The inverse of {@link InstanceKeys.encryptWithSalt}; null with another salt. */
  decryptWithSalt(salt: string, encrypted: string): string | null;
  /** Encrypts the signing secret of one endpoint. It cannot be decrypted for another endpoint. */
  encryptSecret(plain: Uint8Array, of: SecretOwner): string;
  /** The inverse of `encryptSecret`. Secrets of the first format are not bound to an endpoint. */
  decryptSecret(encrypted: string, of: SecretOwner): Uint8Array | null;
  /** Encrypts a text for a browser to keep, in base64url. Text of one purpose cannot be decrypted for another. */
  encryptForBrowser(purpose: string, text: string): string;
  /** The inverse of {@link InstanceKeys.encryptForBrowser}; null if it was altered or is of another installation. */
  decryptFromBrowser(purpose: string, encrypted: string): string | null;
  /** The tag of an envelope sender: see `returnPathLocalPart`. */
  returnPathTag(text: string): string;
  /** Proves that something of the dashboard, such as a form, is of this session or installation. */
  formToken(...parts: readonly string[]): string;
}

/** No vowels, so that a code spells no word, and no look-alike characters. */
const CODE_LETTERS = "23456789BCDFGHJKMNPQRSTVWXZ";
const CODE_LENGTH = 8;

/** The beginning of a hash as a code for people: `K7QX-2M9P`. */
function codeOf(hash: string): string {
  let rest = BigInt(`0x${hash}`);
  let code = "";
  while (code.length < CODE_LENGTH) {
    code += CODE_LETTERS[Number(rest % BigInt(CODE_LETTERS.length))];
    rest /= BigInt(CODE_LETTERS.length);
  }
  return `${code.slice(0, CODE_LENGTH / 2)}-${code.slice(CODE_LENGTH / 2)}`;
}

export function instanceKeys(dataKey: Uint8Array): InstanceKeys {
  const fingerprintKey = deriveKey(dataKey, "fingerprint");
  const secretKey = deriveKey(dataKey, "secret");
  const erasableKey = deriveKey(dataKey, "erasable text");
  const browserKey = deriveKey(dataKey, "browser");
  const saltedKey = (salt: string) => new Bun.CryptoHasher("sha256", erasableKey).update(salt).digest();
  /** The keyed hash of one purpose. Its parts are hashed as lines. */
  const hashFor = (purpose: string) => {
    const key = deriveKey(dataKey, purpose);
    return (...parts: readonly string[]) =>
      new Bun.CryptoHasher("sha256", key).update(parts.join("\n")).digest("hex");
  };
  const verificationSecret = hashFor("sender verification");
  const hashPair = hashFor("metadata");
  return {
    hashApiKey: hashFor("api-key"),
    hashAddress: hashFor("address"),
    hashAddressGlobally: hashFor("address of all workspaces"),
    domainProof: hashFor("sender domain"),
    verificationSecret,
    verificationCode: (senderId, requestId) => codeOf(verificationSecret("code", senderId, requestId)),
    hashTag: hashFor("tag"),
    // As JSON, because either text may hold whatever would separate the two.
    hashMetadata: (workspaceId, name, value) =>
      hashPair(workspaceId, JSON.stringify([name, String(value)])).slice(0, SHORT_HASH_CHARACTERS),
    // Hashed in two parts, because joining would copy a long request once more.
    fingerprint: (workspaceId, request) =>
      new Bun.CryptoHasher("sha256", fingerprintKey).update(`${workspaceId}\n`).update(request).digest("hex"),
    encryptWithSalt: (salt, text) => encrypt(saltedKey(salt), Buffer.from(text)),
    decryptWithSalt: (salt, encrypted) => textOf(decrypt(saltedKey(salt), encrypted)),
    encryptSecret: (plain, of) => BOUND_PREFIX + encrypt(secretKey, plain, contextOf(of)),
    decryptSecret: (encrypted, of) =>
      encrypted.startsWith(BOUND_PREFIX)
        ? decrypt(secretKey, encrypted.slice(BOUND_PREFIX.length), contextOf(of))
        : decrypt(secretKey, encrypted),
    encryptForBrowser(purpose, text) {
      return Buffer.from(encrypt(browserKey, Buffer.from(text), purpose), "base64").toString("base64url");
    },
    decryptFromBrowser: (purpose, encrypted) => textOf(decrypt(browserKey, encrypted, purpose)),
    returnPathTag: hashFor("return path"),
    formToken: hashFor("dashboard form"),
  };
}

function textOf(plain: Uint8Array | null): string | null {
  return plain && new TextDecoder().decode(plain);
}
