import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import type { TlsFiles } from "../../../adapters/smtpServer/tlsOptions.ts";
import type { EnvironmentReader } from "../environmentReader.ts";

/** A port's certificate and key as they were at the start, and where a renewed pair will be. */
export interface ConfiguredTls extends TlsFiles {
  readonly certFile: string;
  readonly keyFile: string;
}

/** The certificate and key that a port's two settings name; null if they name none, "invalid" after an error. */
export function readTlsFiles(
  reader: EnvironmentReader,
  port: "SUBMISSION" | "INBOUND",
): ConfiguredTls | "invalid" | null {
  const [certSetting, keySetting] = [`${port}_TLS_CERT_FILE`, `${port}_TLS_KEY_FILE`];
  const files = { certFile: reader.text(certSetting, ""), keyFile: reader.text(keySetting, "") };
  const settingsCount = Object.values(files).filter((path) => path !== "").length;
  if (settingsCount === 0) return null;
  const cert = reader.file(certSetting);
  const key = reader.file(keySetting);
  if (settingsCount === 1) reader.errors.push(`${certSetting} and ${keySetting} must be set together`);
  if (cert === null || key === null) return "invalid";
  try {
    return { ...files, ...usablePair({ cert, key }) };
  } catch {
    reader.errors.push(
      `${certSetting} and ${keySetting} must hold a certificate, with those of its authorities behind it, and its key, in PEM`,
    );
    return "invalid";
  }
}

/** The pair that the files hold now. Throws why it cannot be used. */
export function loadTlsFiles({ certFile, keyFile }: Pick<ConfiguredTls, "certFile" | "keyFile">): TlsFiles {
  const [cert, key] = [certFile, keyFile].map((path) => readFileSync(path, "utf8").trim());
  return usablePair({ cert: cert ?? "", key: key ?? "" });
}

/** Throws if one of the two is malformed, or the key is another certificate's. */
function usablePair(pair: TlsFiles): TlsFiles {
  createSecureContext({ ...pair });
  return pair;
}
