import type { Projection } from "../../projections/projection.ts";
import { omitUndefined } from "../kernel/omitUndefined.ts";
import { type EpochMs, epochMs } from "../kernel/time.ts";
import { type EventStore, type Position, StoreError } from "../ports/eventStore.ts";

/** How long the store may take to find the first missing event. */
const FIND_MS_MAX = 5_000;

/** When the first event was written that the rows lack; null if they lack none. */
export type BehindSince = EpochMs | null | "unknown";

/**
 * Since when rows at `position` have been behind the log: the time of the first later event that the projection wants
 * (any, if it names none). Null when there is none; `"unknown"` when the store does not answer in time.
 */
export async function behindSince(
  store: EventStore,
  { events: types }: Partial<Pick<Projection, "events">>,
  position: Position,
): Promise<BehindSince> {
  try {
    for await (const { events } of store.readAll(position, omitUndefined({ types }), {
      timeoutMs: FIND_MS_MAX,
    })) {
      const [first] = events;
      if (first === undefined) continue;
      const at = epochMs(String(first.metadata.at));
      return Number.isNaN(at) ? "unknown" : at;
    }
    return null;
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return "unknown";
  }
}
