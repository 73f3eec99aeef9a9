import { epochMs, rfc3339 } from "../kernel/time.ts";
import { invalid } from "./problem.ts";

const DATE_TIME = /^(\d{4}-\d{2}-\d{2})T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i;
/** Times are compared as text, which orders years of four digits only. */
const YEAR_9999_END = Date.UTC(10_000, 0, 1) - 1;

/** The time that a value holds, as we write times (RFC 3339 in UTC); refuses what holds none. */
export function dateTime(pointer: string, text: string): string {
  const day = DATE_TIME.exec(text)?.[1];
  const at = day === undefined ? Number.NaN : epochMs(text);
  // The engine turns 30 February into 2 March.
  const isDay = day !== undefined && rfc3339(epochMs(`${day}T00:00:00Z`) || 0).startsWith(day);
  if (!isDay || Number.isNaN(at) || at > YEAR_9999_END) {
    throw invalid(pointer, "is not an RFC 3339 date-time");
  }
  return rfc3339(at);
}
