import { type Logger, pino } from "pino";
import { lineWriter } from "./lineWriter.ts";
import { prettyLogLine } from "./prettyLogLine.ts";

/** How to write lines: `auto` is readable text on a terminal and JSON everywhere else. */
export type LogFormat = "auto" | "pretty" | "json";

const STANDARD_ERROR = 2;

/** Structured log lines on standard error. Callers pass ids, codes and figures, never an address, key or content. */
export function createLogger(level: string, format: LogFormat = "json"): Logger {
  const isPretty = format === "pretty" || (format === "auto" && process.stderr.isTTY === true);
  const hasColours = process.stderr.isTTY === true && !process.env.NO_COLOR;
  const writeLine = lineWriter(STANDARD_ERROR);
  const write = isPretty ? (line: string) => writeLine(prettyLogLine(line, hasColours)) : writeLine;
  return pino({ level, base: { service: "postledger" } }, { write });
}
