import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from "node:crypto";

/** A private signing key (Ed25519, RFC 8032) and its public key. */
export interface SigningKey {
  readonly key: KeyObject;
  readonly publicKey: PublicKey;
}

/** The 32 bytes of an Ed25519 public key in standard Base64. */
export type PublicKey = string & { readonly publicKey: unique symbol };

const PEM_BLOCK = /-----BEGIN PUBLIC KEY-----[^-]+-----END PUBLIC KEY-----/g;

/** A fresh private key as PEM (PKCS #8), and its public key. */
export function newSigningKey(): { readonly pem: string; readonly publicKey: PublicKey } {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    pem: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
    publicKey: bytesOf(publicKey),
  };
}

/** The key in a PEM (PKCS #8); null if it has no unencrypted Ed25519 private key. */
export function parseSigningKey(pem: string): SigningKey | null {
  try {
    const key = createPrivateKey(pem);
    if (key.asymmetricKeyType !== "ed25519") return null;
    return { key, publicKey: bytesOf(createPublicKey(key)) };
  } catch {
    return null;
  }
}

/** All public keys in a PEM (SubjectPublicKeyInfo); null if there is none, or one is not Ed25519. */
export function parsePublicKeys(pem: string): readonly PublicKey[] | null {
  try {
    const keys = [...pem.matchAll(PEM_BLOCK)].map(([block]) => createPublicKey(block));
    const isSound = keys.length > 0 && keys.every(({ asymmetricKeyType }) => asymmetricKeyType === "ed25519");
    return isSound ? keys.map(bytesOf) : null;
  } catch {
    return null;
  }
}

/** The public key as PEM (SubjectPublicKeyInfo). */
export function publicKeyPem(publicKey: PublicKey): string {
  return keyObjectOf(publicKey).export({ type: "spki", format: "pem" }) as string;
}

/** The Ed25519 signature of a text in standard Base64. */
export function signText({ key }: SigningKey, text: string): string {
  return sign(null, Buffer.from(text), key).toString("base64");
}

/** Whether `signature` is the key's signature of `text`. False for a malformed key or signature. */
export function isSignedBy(publicKey: string, text: string, signature: string): boolean {
  try {
    return verify(null, Buffer.from(text), keyObjectOf(publicKey), Buffer.from(signature, "base64"));
  } catch {
    return false;
  }
}

function bytesOf(key: KeyObject): PublicKey {
  const { x = "" } = key.export({ format: "jwk" });
  return Buffer.from(x, "base64url").toString("base64") as PublicKey;
}

function keyObjectOf(publicKey: string): KeyObject {
  const x = Buffer.from(publicKey, "base64").toString("base64url");
  return createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
}
