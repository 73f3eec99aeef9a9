import { parseDateTime, rfc3339 } from "../../kernel/time.ts";
import { invalid } from "../server/problem.ts";

/** What an unencoded + in a query becomes: a space before an offset. */
const OFFSET_AFTER_SPACE = /\d \d\d:\d\d$/;

/** The fault of a text that is not a time. */
export const NO_DATE_TIME = "must be a date-time as in RFC 3339: 2030-01-31T12:00:00Z";

/** The time in a value, in our own format (RFC 3339 in UTC); throws if it is not a time. */
export function dateTime(pointer: string, text: string): string {
  const at = parseDateTime(text);
  if (at === null) {
    const hint = OFFSET_AFTER_SPACE.test(text) ? "; in a query, + is written %2B" : "";
    throw invalid(pointer, NO_DATE_TIME + hint);
  }
  return rfc3339(at);
}
