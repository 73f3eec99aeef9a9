import type { Projection } from "../../projections/projection.ts";
import { type EpochMs, epochMs } from "../kernel/time.ts";
import { type EventStore, type Position, StoreError } from "../ports/eventStore.ts";

/** How long the store may take to find the first event that rows lack. */
const FIND_MS_MAX = 5_000;

/** Since when rows lack something of the log. */
export type BehindSince = EpochMs | null | "unknown";

/**
 * How far rows at `position` are behind the log: when the first event was written that the projection wants and they do
 * not have. Null when there is none; `"unknown"` when the store does not say so in time.
 */
export async function behindSince(
  store: EventStore,
  { events: types }: Pick<Projection, "events">,
  position: Position,
): Promise<BehindSince> {
  try {
    for await (const { events } of store.readAll(position, { types }, { timeoutMs: FIND_MS_MAX })) {
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
