/** Milliseconds since 1970-01-01T00:00:00Z. */
export type EpochMs = number;

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** A span of time; `to` is null while it lasts. */
export interface TimeSpan {
  readonly from: EpochMs;
  readonly to: EpochMs | null;
}

/** How much of the time from `since` to `now` the `spans` cover, in ms; overlaps count once. */
export function coveredMs(spans: readonly TimeSpan[], since: EpochMs, now: EpochMs): number {
  let total = 0;
  let reached = since;
  for (const { from, to } of [...spans].sort((a, b) => a.from - b.from)) {
    const end = Math.min(now, to ?? now);
    total += Math.max(0, end - Math.max(reached, from));
    reached = Math.max(reached, end);
  }
  return total;
}

/** RFC 3339 in UTC with milliseconds: the only form in which Postledger writes a time. */
export function rfc3339(time: EpochMs): string {
  return new Date(time).toISOString();
}

/** The inverse of {@link rfc3339}; NaN for anything that is not a time. */
export function epochMs(text: string): EpochMs {
  return Date.parse(text);
}

/** The day of an RFC 3339 time in UTC: YYYY-MM-DD. */
export function utcDay(time: string): string {
  return time.slice(0, "YYYY-MM-DD".length);
}

const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DATE_TIME = /^(\d{4}-\d{2}-\d{2})T(?:[01]\d|2[0-3]):\d{2}:\d{2}(\.\d+)?(Z|[+-]\d{2}:\d{2})$/i;
/** Times are compared as text, which sorts correctly only for years of four digits. */
const YEAR_9999_END = Date.UTC(10_000, 0, 1) - 1;

/** The engine misreads a fraction of ten digits or more that begins with a zero: `.0010000001` as 10 ms. */
const AFTER_MILLISECONDS = /(\.\d{3})\d+/;

/** The time of an RFC 3339 date-time, without what is below a millisecond; null for anything else. */
export function parseDateTime(text: string): EpochMs | null {
  const day = DATE_TIME.exec(text)?.[1];
  if (day === undefined) return null;
  const at = epochMs(text.replace(AFTER_MILLISECONDS, "$1"));
  // The engine turns 30 February into 2 March.
  const isDay = rfc3339(epochMs(`${day}T00:00:00Z`) || 0).startsWith(day);
  return isDay && at <= YEAR_9999_END ? at : null;
}

/** Digits below a millisecond that are not all zero. */
const BELOW_A_MILLISECOND = /\.\d{3}\d*[1-9]/;

/**
 * As {@link parseDateTime}, for one end of a range of times. Times in the log are whole milliseconds, so an end between
 * two of them is the later one: as the first that is included, and as the first that is not.
 */
export function parseRangeEnd(text: string): EpochMs | null {
  const at = parseDateTime(text);
  return at !== null && BELOW_A_MILLISECOND.test(text) ? Math.min(at + 1, YEAR_9999_END) : at;
}

/** Whether `text` is a full-date or a date-time of RFC 3339 (§5.6). */
export function isRfc3339(text: string): boolean {
  return parseDateTime(DATE.test(text) ? `${text}T00:00:00Z` : text) !== null;
}

/** Whether a text is a time as {@link rfc3339} writes it. */
export function isTimeAsWritten(text: string): boolean {
  const time = epochMs(text);
  return !Number.isNaN(time) && rfc3339(time) === text;
}
