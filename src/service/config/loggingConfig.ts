import type { EnvironmentReader } from "./environmentReader.ts";

const LOG_LEVELS = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;

/** What the service writes about itself, and how. */
export type LoggingConfig = Readonly<ReturnType<typeof readLoggingConfig>>;

export function readLoggingConfig(reader: EnvironmentReader) {
  return {
    logLevel: reader.choice("LOG_LEVEL", "info", LOG_LEVELS),
    /** `auto`: for people on a terminal, JSON elsewhere. */
    logFormat: reader.choice("LOG_FORMAT", "auto", ["auto", "pretty", "json"]),
    logRequests: reader.choice("LOG_REQUESTS", "failed", ["failed", "all"]),
  };
}
