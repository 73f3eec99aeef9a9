/** Milliseconds since 1970-01-01T00:00:00Z. */
export type EpochMs = number;

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
export const DAY_MS = 24 * HOUR_MS;

/** RFC 3339 in UTC with milliseconds: the only form in which Postledger writes a time. */
export function rfc3339(time: EpochMs): string {
  return new Date(time).toISOString();
}

/** The inverse of {@link rfc3339}; NaN for anything that is not a time. */
export function epochMs(text: string): EpochMs {
  return Date.parse(text);
}
