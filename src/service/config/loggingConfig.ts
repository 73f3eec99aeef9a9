import type { EnvironmentReader } from "./environmentReader.ts";

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/** What the service writes about itself, and how. */
export interface LoggingConfig {
  readonly logLevel: string;
  /** `auto`: for people on a terminal, JSON elsewhere. */
  readonly logFormat: "auto" | "pretty" | "json";
  readonly logRequests: "failed" | "all";
}

export function readLoggingConfig(reader: EnvironmentReader): LoggingConfig {
  return {
    logLevel: reader.choice("LOG_LEVEL", "info", LOG_LEVELS),
    logFormat: reader.choice("LOG_FORMAT", "auto", ["auto", "pretty", "json"]),
    logRequests: reader.choice("LOG_REQUESTS", "failed", ["failed", "all"]),
  };
}
