import { wholeNumber } from "../../kernel/text/wholeNumber.ts";
import type { EnvironmentReader } from "../config/environmentReader.ts";

/** Where figures of the service can be read. */
export interface MetricsConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/** Null: nowhere. No key is asked for there, so it is on this machine unless something else is said. */
export function readMetricsConfig(reader: EnvironmentReader): MetricsConfig | null {
  const text = reader.text("METRICS_PORT", "off");
  const port = wholeNumber(text, { max: 65_535 });
  if (text !== "off" && port === null) {
    reader.errors.push("METRICS_PORT must be off, or a whole number from 0 to 65535");
  }
  const host = reader.host("METRICS_HOST", "127.0.0.1");
  return port === null ? null : { host, port };
}
