import { createSecureContext } from "node:tls";
import type { TlsFiles } from "../../adapters/smtpServer/sharedServerOptions.ts";
import type { EnvironmentReader } from "./environmentReader.ts";

/** The certificate and key that a port's two settings name; null if they name none. */
export function readTlsFiles(reader: EnvironmentReader, port: "SUBMISSION" | "INBOUND"): TlsFiles | null {
  const [certFile, keyFile] = [`${port}_TLS_CERT_FILE`, `${port}_TLS_KEY_FILE`];
  const cert = reader.file(certFile);
  const key = reader.file(keyFile);
  if ((cert === null) !== (key === null))
    reader.errors.push(`${certFile} and ${keyFile} must be set together`);
  if (cert === null || key === null) return null;
  try {
    createSecureContext({ cert, key });
  } catch {
    reader.errors.push(
      `${certFile} and ${keyFile} must hold a certificate, with those of its authorities behind it, and its key, in PEM`,
    );
  }
  return { cert, key };
}
