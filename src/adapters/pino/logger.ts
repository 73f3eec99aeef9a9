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
  if (!isPretty) {
    const lines = destination({ fd: STANDARD_ERROR, sync: true });
    lines.on("error", loseLine);
    return pino(options, lines);
  }
  const hasColours = process.stderr.isTTY === true && !process.env.NO_COLOR;
  const write = (line: string) => {
    try {
      writeSync(STANDARD_ERROR, prettyLogLine(line, hasColours));
    } catch {
      loseLine();
    }
  };
  return pino(options, { write });
}

/** A line that cannot be written, because the terminal was closed or the disk is full, must not stop the service. */
function loseLine(): void {}
