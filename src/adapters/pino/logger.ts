import { writeSync } from "node:fs";
import { destination, type Logger, pino } from "pino";
import { prettyLogLine } from "./prettyLogLine.ts";

/** How to write lines: `auto` is readable text on a terminal and JSON everywhere else. */
export type LogFormat = "auto" | "pretty" | "json";

const STANDARD_ERROR = 2;

/** Structured log lines on standard error. Callers pass ids, codes and figures, never an address, key or content. */
export function createLogger(level: string, format: LogFormat = "json"): Logger {
  const isPretty = format === "pretty" || (format === "auto" && process.stderr.isTTY === true);
  const options = { level, base: { service: "postledger" } };
  if (!isPretty) return pino(options, destination({ fd: STANDARD_ERROR, sync: true }));
  const hasColours = process.stderr.isTTY === true && !process.env.NO_COLOR;
  return pino(options, { write: (line) => void writeSync(STANDARD_ERROR, prettyLogLine(line, hasColours)) });
}
