import { DAY_MS } from "../../kernel/time.ts";

/** The name of the keys that log-in links make. They end with their sessions, and nobody has their secrets. */
export const LOG_IN_KEY_NAME = "dashboard log-in";

/**
 * Whose expiry people should hear of: keys that were used within `usedMs` and expire within `aheadMs`, or did within
 * `pastMs`.
 */
export const EXPIRY_WARNING_RULE = {
  usedMs: 7 * DAY_MS,
  aheadMs: 7 * DAY_MS,
  pastMs: 7 * DAY_MS,
  exceptNamed: LOG_IN_KEY_NAME,
} as const;
