import { parseDateTime, rfc3339 } from "../kernel/time.ts";
import { invalid } from "./problem.ts";

/** The time that a value holds, as we write times (RFC 3339 in UTC); refuses what holds none. */
export function dateTime(pointer: string, text: string): string {
  const at = parseDateTime(text);
  if (at === null) throw invalid(pointer, "is not an RFC 3339 date-time");
  return rfc3339(at);
}
