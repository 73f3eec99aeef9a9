import { type EpochMs, parseDateTime, parseRangeEnd, rfc3339 } from "../../kernel/time.ts";
import { invalid } from "../server/problem.ts";

/** What an unencoded + in a query becomes: a space before an offset. */
const OFFSET_AFTER_SPACE = /\d \d\d:\d\d$/;

export const A_DATE_TIME = "a date-time as in RFC 3339: 2030-01-31T12:00:00Z";

/** What is wrong with a text that is not a time. */
export function dateTimeFault(text: string): string {
  if (parseDateTime(`${text}Z`) !== null) return "lacks Z or an offset such as +01:00";
  return `must be ${A_DATE_TIME}`;
}

/** The time in a value, in our own format (RFC 3339 in UTC); throws if it is not a time. */
export function dateTime(pointer: string, text: string): string {
  return timeOf(pointer, text, parseDateTime);
}

/** As {@link dateTime}, for one end of a range of times: never earlier than it says. */
export function rangeEnd(pointer: string, text: string): string {
  return timeOf(pointer, text, parseRangeEnd);
}

function timeOf(pointer: string, text: string, parse: (text: string) => EpochMs | null): string {
  const at = parse(text);
  if (at === null) {
    const hint = OFFSET_AFTER_SPACE.test(text) ? "; in a query, + is written %2B" : "";
    throw invalid(pointer, dateTimeFault(text) + hint);
  }
  return rfc3339(at);
}
