import { HOUR_MS } from "../../kernel/time.ts";

/** When an endpoint is disabled as `failing`: after this many failures, of this many events, and no success this long. */
export const FAILING_RULE = { failuresMin: 20, eventsMin: 2, durationMs: 120 * HOUR_MS } as const;
