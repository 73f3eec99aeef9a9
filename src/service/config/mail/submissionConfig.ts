import type { SubmissionTls } from "../../../adapters/smtpServer/submissionServer.ts";
import { isLoopback } from "../../../kernel/network/isLoopback.ts";
import type { EnvironmentReader } from "../environmentReader.ts";
import { type ConfiguredTls, readTlsFiles } from "./tlsFiles.ts";

/** Where mail is taken over SMTP. */
export interface SubmissionConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  /** Null: no TLS, which only loopback allows. */
  readonly tls: (SubmissionTls & ConfiguredTls) | null;
}

/** Null: no mail is taken over SMTP. `host` is what HTTP listens on. */
export function readSubmissionConfig(reader: EnvironmentReader, host: string): SubmissionConfig | null {
  const port = reader.listeningPort("SUBMISSION_PORT");
  const config = { host: reader.host("SUBMISSION_HOST", host), tls: submissionTls(reader) };
  if (port === null || config.tls === "invalid") return null;
  if (config.tls === null && !isLoopback(config.host)) {
    reader.errors.push(
      "SUBMISSION_TLS_CERT_FILE and SUBMISSION_TLS_KEY_FILE must be set when SUBMISSION_HOST is not loopback: API keys must not cross a network in clear text",
    );
  }
  return { host: config.host, port, tls: config.tls };
}

function submissionTls(reader: EnvironmentReader): SubmissionConfig["tls"] | "invalid" {
  const isImplicit = reader.choice("SUBMISSION_TLS", "starttls", ["starttls", "implicit"]) === "implicit";
  const files = readTlsFiles(reader, "SUBMISSION");
  if (files === null && isImplicit) {
    reader.errors.push("SUBMISSION_TLS must not be implicit without SUBMISSION_TLS_CERT_FILE");
  }
  return files === null || files === "invalid" ? files : { ...files, isImplicit };
}
