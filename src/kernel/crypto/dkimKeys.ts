import { createPrivateKey, createPublicKey } from "node:crypto";

/** RFC 8301 §3.2: verifiers accept no signatures by shorter keys. */
const RSA_BITS_MIN = 1_024;

/** A key that signs mail of a domain (RFC 6376, RFC 8463). */
export interface DkimKey {
  /** In lower-case ASCII. */
  readonly domain: string;
  readonly selector: string;
  readonly algorithm: "rsa-sha256" | "ed25519-sha256";
  /** In PEM. */
  readonly privateKey: string;
}

/** The TXT record by which a domain publishes a key, and its name. */
export interface DkimRecord {
  readonly name: string;
  readonly value: string;
}

/** The algorithm of a private key in PEM; null if DKIM cannot use the key. */
export function dkimAlgorithm(privateKey: string): DkimKey["algorithm"] | null {
  try {
    const { asymmetricKeyType: type, asymmetricKeyDetails: details } = createPrivateKey(privateKey);
    if (type === "ed25519") return "ed25519-sha256";
    return type === "rsa" && (details?.modulusLength ?? 0) >= RSA_BITS_MIN ? "rsa-sha256" : null;
  } catch {
    return null;
  }
}

/** The record that gives verifiers the public half of a key (RFC 6376 §3.6.1). */
export function dkimRecord({ domain, selector, algorithm, privateKey }: DkimKey): DkimRecord {
  const key = createPublicKey(privateKey);
  const isRsa = algorithm === "rsa-sha256";
  // For Ed25519 only the key's bytes are published (RFC 8463 §4).
  const bytes = isRsa
    ? (key.export({ type: "spki", format: "der" }) as Buffer)
    : Buffer.from(key.export({ format: "jwk" }).x ?? "", "base64url");
  const value = `v=DKIM1; k=${isRsa ? "rsa" : "ed25519"}; p=${bytes.toString("base64")}`;
  return { name: `${selector}._domainkey.${domain}`, value };
}

/** The keys that sign mail from a domain: its own, or else those of the nearest parent domain with keys. */
export function dkimKeysFor(keys: readonly DkimKey[], domain: string): readonly DkimKey[] {
  for (let name = domain.toLowerCase(); name.includes("."); name = name.slice(name.indexOf(".") + 1)) {
    const own = keys.filter((key) => key.domain === name);
    if (own.length > 0) return own;
  }
  return [];
}
