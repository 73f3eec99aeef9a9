import { HOUR_MS } from "../../kernel/time.ts";

/**
 * When an endpoint is disabled as `failing`: after so many failures, of at least two events, with no success for so
 * long.
 */
export const FAILING_RULE = { failuresMin: 20, durationMs: 120 * HOUR_MS } as const;
