import type { EnvironmentReader } from "./environmentReader.ts";

/** Where figures of the service can be read. */
export interface MetricsConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/** Null: nowhere. No key is asked for there, so it is on this machine unless something else is said. */
export function readMetricsConfig(reader: EnvironmentReader): MetricsConfig | null {
  const port = reader.listeningPort("METRICS_PORT");
  const host = reader.host("METRICS_HOST", "127.0.0.1");
  return port === null ? null : { host, port };
}
