import { parseDateTime, rfc3339 } from "../../kernel/time.ts";
import { invalid } from "../server/problem.ts";

/** What a + that was not encoded in a query leaves: a space there means a plus. */
const OFFSET_AFTER_SPACE = /\d \d\d:\d\d$/;

/** What is wrong with a text that holds no time. */
export const NO_DATE_TIME = "must be a date-time as in RFC 3339: 2030-01-31T12:00:00Z";

/** The time that a value holds, as we write times (RFC 3339 in UTC); refuses what holds none. */
export function dateTime(pointer: string, text: string): string {
  const at = parseDateTime(text);
  if (at === null) {
    const hint = OFFSET_AFTER_SPACE.test(text) ? "; in a query, + is written %2B" : "";
    throw invalid(pointer, NO_DATE_TIME + hint);
  }
  return rfc3339(at);
}
