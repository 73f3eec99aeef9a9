import { parseSigningKey } from "../../kernel/crypto/auditSigningKey.ts";
import { POSTLEDGER } from "../../kernel/text/commandName.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../kernel/time.ts";
import type { EnvironmentReader } from "./environmentReader.ts";

/** How log and read models are guarded against change: audit seals, and comparisons of the two. */
export type IntegrityConfig = Readonly<ReturnType<typeof readIntegrityConfig>>;

export function readIntegrityConfig(reader: EnvironmentReader) {
  return {
    /** How long after one comparison of the read models with the log the next one begins; 0: never. */
    verifyIntervalMs:
      HOUR_MS * reader.integer("PROJECTION_VERIFY_INTERVAL_HOURS", 0, { min: 0, max: 365 * 24 }),
    /** An event is sealed so long after it was written, at the latest; 0: nothing is sealed by itself. */
    auditSealIntervalMs: reader.integer("AUDIT_SEAL_INTERVAL_MS", 10 * MINUTE_MS, { min: 0, max: DAY_MS }),
    /** The Ed25519 private key that signs seals, as PEM; null: they are not signed. */
    auditSigningKey: auditSigningKey(reader),
  };
}

function auditSigningKey(reader: EnvironmentReader): string | null {
  const pem = reader.secret("AUDIT_SIGNING_KEY");
  if (pem !== null && parseSigningKey(pem) === null) {
    reader.errors.push(
      `${reader.sourceOf("AUDIT_SIGNING_KEY")} must be an Ed25519 private key in PEM: see ${POSTLEDGER} audit keygen`,
    );
  }
  return pem;
}
