import type { EnvironmentReader } from "./environmentReader.ts";

/** Where the service's metrics can be read. */
export interface MetricsConfig {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

/** Null: metrics are off. They need no key, so by default they are on loopback only. */
export function readMetricsConfig(reader: EnvironmentReader): MetricsConfig | null {
  const port = reader.listeningPort("METRICS_PORT");
  const host = reader.host("METRICS_HOST", "127.0.0.1");
  return port === null ? null : { host, port };
}
