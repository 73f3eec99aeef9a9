import { DAY_MS, type EpochMs, HOUR_MS, MINUTE_MS, parseDateTime, SECOND_MS } from "../../kernel/time.ts";

const UNIT_MS: Readonly<Record<string, number>> = {
  s: SECOND_MS,
  m: MINUTE_MS,
  h: HOUR_MS,
  d: DAY_MS,
  w: 7 * DAY_MS,
};
const DATE = /^\d{4}-\d{2}-\d{2}$/;

/** Parses a length of time, such as `90m`, `2h` or `7d`, to ms. Null for anything else. */
export function parseDuration(text: string): number | null {
  const [, count = "", unit = ""] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  const unitMs = UNIT_MS[unit];
  return unitMs === undefined ? null : Number(count) * unitMs;
}

/**
 * Parses a time: an RFC 3339 date-time; a date, which means its beginning in UTC; or how long before `now`: `90m`,
 * `2h`, `7d`. Null for anything else.
 */
export function parseTime(text: string, now: EpochMs): EpochMs | null {
  const ago = parseDuration(text);
  if (ago !== null) return now - ago;
  return parseDateTime(DATE.test(text) ? `${text}T00:00:00Z` : text);
}
