import { createSecureContext } from "node:tls";
import type { TlsFiles } from "../../adapters/smtpServer/tlsOptions.ts";
import type { EnvironmentReader } from "./environmentReader.ts";

/** The certificate and key that a port's two settings name; null if they name none, "invalid" after an error. */
export function readTlsFiles(
  reader: EnvironmentReader,
  port: "SUBMISSION" | "INBOUND",
): TlsFiles | "invalid" | null {
  const [certFile, keyFile] = [`${port}_TLS_CERT_FILE`, `${port}_TLS_KEY_FILE`];
  const settingsCount = [certFile, keyFile].filter((name) => reader.text(name, "") !== "").length;
  if (settingsCount === 0) return null;
  const cert = reader.file(certFile);
  const key = reader.file(keyFile);
  if (settingsCount === 1) reader.errors.push(`${certFile} and ${keyFile} must be set together`);
  if (cert === null || key === null) return "invalid";
  try {
    createSecureContext({ cert, key });
    return { cert, key };
  } catch {
    reader.errors.push(
      `${certFile} and ${keyFile} must hold a certificate, with those of its authorities behind it, and its key, in PEM`,
    );
    return "invalid";
  }
}
