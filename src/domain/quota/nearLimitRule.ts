/** From this share of a limit on, operators are warned. */
const WARNING_SHARE = 0.8;

/** Whether so much of a limit is used that operators are warned. */
export function isNearLimit(used: number, limit: number): boolean {
  return used > 0 && used >= limit * WARNING_SHARE;
}
