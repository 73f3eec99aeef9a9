/** The hour of an RFC 3339 time in UTC, 0 to 23. */
export function utcHour(time: string): number {
  return Number(time.slice("yyyy-mm-ddT".length, "yyyy-mm-ddThh".length));
}
