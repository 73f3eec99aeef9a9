import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { isIPv4 } from "node:net";

/** A certificate with its key, both in PEM. */
export interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** A certificate authority for tests, trusted only by clients configured to trust it. */
export interface Authority {
  /** In PEM. */
  readonly certificate: string;
  /** Issues a certificate for a cluster node, as server and client. `names` are host names and IPv4 addresses. */
  issue(commonName: string, names: readonly string[]): Certificate;
}

/** EventStoreDB accepts RSA keys only. */
const KEY_BITS = 2_048;
const YEAR_MS = 366 * 24 * 3_600_000;

const OID = {
  commonName: [0x55, 0x04, 0x03],
  subjectKeyIdentifier: [0x55, 0x1d, 0x0e],
  keyUsage: [0x55, 0x1d, 0x0f],
  alternativeNames: [0x55, 0x1d, 0x11],
  basicConstraints: [0x55, 0x1d, 0x13],
  authorityKeyIdentifier: [0x55, 0x1d, 0x23],
  extendedKeyUsage: [0x55, 0x1d, 0x25],
  serverAuth: [0x2b, 6, 1, 5, 5, 7, 3, 1],
  clientAuth: [0x2b, 6, 1, 5, 5, 7, 3, 2],
  sha256WithRsa: [0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 1, 1, 11],
};

/** Makes an authority, valid for a year (X.509 version 3, RFC 5280). */
export function certificateAuthority(commonName: string): Authority {
  const { publicKey, privateKey } = generateKeyPairSync("rsa", { modulusLength: KEY_BITS });
  const self = { name: commonName, publicKey, privateKey };
  const certSign = extension(OID.keyUsage, bits(0b0000_0110, 1), true);
  const isAuthority = extension(OID.basicConstraints, sequence(tagged(0x01, [0xff])), true);
  return {
    certificate: certificateOf(self, self, [isAuthority, certSign]),
    issue(subjectName, names) {
      const keys = generateKeyPairSync("rsa", { modulusLength: KEY_BITS });
      const usages = sequence(oid(OID.serverAuth), oid(OID.clientAuth));
      const subject = { name: subjectName, publicKey: keys.publicKey };
      const certificate = certificateOf(self, subject, [
        extension(OID.basicConstraints, sequence(), true),
        extension(OID.keyUsage, bits(0b1010_0000, 5), true),
        extension(OID.extendedKeyUsage, usages),
        extension(OID.alternativeNames, sequence(...names.map(alternativeName))),
      ]);
      return { certificate, key: keys.privateKey.export({ type: "pkcs8", format: "pem" }) as string };
    },
  };
}

interface Subject {
  readonly name: string;
  readonly publicKey: KeyObject;
}

function certificateOf(
  issuer: Subject & { readonly privateKey: KeyObject },
  subject: Subject,
  extensions: readonly Buffer[],
): string {
  const now = Date.now();
  const algorithm = sequence(oid(OID.sha256WithRsa), tagged(0x05, []));
  const identifiers = [
    extension(OID.subjectKeyIdentifier, tagged(0x04, keyIdentifier(subject.publicKey))),
    extension(OID.authorityKeyIdentifier, sequence(tagged(0x80, keyIdentifier(issuer.publicKey)))),
  ];
  const body = sequence(
    tagged(0xa0, tagged(0x02, [2])),
    tagged(0x02, [0x01, ...randomBytes(15)]),
    algorithm,
    nameOf(issuer.name),
    sequence(timeOf(now - YEAR_MS / 12), timeOf(now + YEAR_MS)),
    nameOf(subject.name),
    subject.publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(...identifiers, ...extensions)),
  );
  const signature = createSign("SHA256").update(body).sign(issuer.privateKey);
  const der = sequence(body, algorithm, tagged(0x03, [0, ...signature]));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}

/** A value in DER: its tag, its length, its content. */
function tagged(tag: number, content: ArrayLike<number>): Buffer {
  const { length } = content;
  const long = length < 0x80 ? [] : length < 0x100 ? [0x81] : [0x82, length >> 8];
  return Buffer.from([tag, ...long, length & 0xff, ...Array.from(content)]);
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function oid(bytes: readonly number[]): Buffer {
  return tagged(0x06, bytes);
}

/** A bit string of one byte, whose last `unused` bits do not count. */
function bits(byte: number, unused: number): Buffer {
  return tagged(0x03, [unused, byte]);
}

function extension(id: readonly number[], value: Buffer, critical = false): Buffer {
  return sequence(oid(id), ...(critical ? [tagged(0x01, [0xff])] : []), tagged(0x04, value));
}

function nameOf(commonName: string): Buffer {
  const attribute = sequence(oid(OID.commonName), tagged(0x0c, Buffer.from(commonName)));
  return sequence(tagged(0x31, attribute));
}

/** A UTCTime, which reaches until 2049. */
function timeOf(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/\D/g, "").slice(2, 14);
  return tagged(0x17, Buffer.from(`${digits}Z`));
}

function alternativeName(name: string): Buffer {
  return isIPv4(name) ? tagged(0x87, name.split(".").map(Number)) : tagged(0x82, Buffer.from(name));
}

function keyIdentifier(key: KeyObject): Buffer {
  return createHash("sha1")
    .update(key.export({ type: "spki", format: "der" }))
    .digest();
}
