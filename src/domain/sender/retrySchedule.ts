import { HOUR_MS, MINUTE_MS } from "../../kernel/time.ts";

const RETRY_MS_FIRST = MINUTE_MS;
const RETRY_MS_MAX = HOUR_MS;

/** How long to wait after a failed attempt to send a verification mail: 1 min, 2 min, 4 min and so on, up to an hour. */
export function retryDelayMs(attempt: number): number {
  return Math.min(RETRY_MS_MAX, RETRY_MS_FIRST * 2 ** (attempt - 1));
}
