import { accessSync, constants } from "node:fs";
import { dirname } from "node:path";
import { type Invocation, type Option, UsageError } from "../program/command.ts";
import { parseTime } from "../program/timeArgument.ts";

export type Format = "jsonl" | "csv";

export const OUT: Option = {
  name: "out",
  value: "<file>",
  help: "file to write; it must not exist yet (default: standard output)",
};
export const FORMAT: Option = { name: "format", value: "<format>", help: "jsonl or csv (default: jsonl)" };
export const TIME_FORMS =
  "RFC 3339 such as 2027-01-01T00:00:00Z, a date (its first moment in UTC), or how long ago: 90m, 2h, 7d";

export function parseTimeOperand(text: string, now: number): number {
  const at = parseTime(text, now);
  if (at !== null) return at;
  throw new UsageError(`${text} is not a time: ${TIME_FORMS}`);
}

export function formatOf(invocation: Invocation): Format {
  const format = invocation.option("format") ?? "jsonl";
  if (format === "jsonl" || format === "csv") return format;
  throw new UsageError("--format takes jsonl or csv");
}

/** The output file. Throws a usage error if it cannot be written, before a long read is wasted. */
export function outOf(invocation: Invocation): string | undefined {
  const out = invocation.option("out");
  if (out === undefined) return undefined;
  try {
    accessSync(dirname(out), constants.W_OK);
    return out;
  } catch (error) {
    throw new UsageError(`--out ${out} cannot be written: ${(error as { code?: string }).code}`);
  }
}
