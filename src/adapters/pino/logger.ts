import { destination, type Logger, pino } from "pino";

/** Structured log lines on standard error. Callers pass ids, codes and figures: never an address, key or content. */
export function createLogger(level: string): Logger {
  return pino({ level, base: { service: "postledger" } }, destination({ fd: 2, sync: true }));
}
