import { parseDateTime, rfc3339 } from "../kernel/time.ts";
import { invalid } from "./problem.ts";

/** The time that a value holds, as we write times (RFC 3339 in UTC); refuses what holds none. */
export function dateTime(pointer: string, text: string): string {
  const at = parseDateTime(text);
  if (at === null) throw invalid(pointer, "must be a date-time as in RFC 3339: 2030-01-31T12:00:00Z");
  return rfc3339(at);
}
