import {
  clockSkewedWebhooks,
  type WebhookDeliveryRow,
} from "../../../projections/webhookDeliveries/queries.ts";
import type { Clock } from "../../ports/clock.ts";
import type { ReadRows } from "../worker/tryReadRows.ts";

/** How often to look for deliveries that a clock misdated, how soon again after finding some, and how many at once. */
const CHECK_INTERVAL_MS = 5_000;
const AGAIN_MS = 1_000;
const FOUND_MAX = 512;

interface WebhooksAfterClockSkew {
  /** Whether it is time for the next look. Times are monotonic, in ms. */
  isDue(now: number): boolean;
  find(now: number): readonly WebhookDeliveryRow[];
}

/** Finds deliveries that are due although their times say otherwise, because a clock was ahead. */
export function webhooksAfterClockSkew({
  clock,
  read,
}: {
  readonly clock: Clock;
  readonly read: ReadRows;
}): WebhooksAfterClockSkew {
  let dueAt = Number.NEGATIVE_INFINITY;
  return {
    isDue: (now) => now >= dueAt,
    find(now) {
      const rows = read((db) => clockSkewedWebhooks(db, clock.now(), FOUND_MAX)) ?? [];
      dueAt = now + (rows.length > 0 ? AGAIN_MS : CHECK_INTERVAL_MS);
      return rows;
    },
  };
}
