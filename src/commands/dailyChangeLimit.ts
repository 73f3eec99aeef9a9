import { LRUCache } from "lru-cache";
import type { CommandContext } from "../kernel/event/commandContext.ts";
import { DAY_MS, type EpochMs } from "../kernel/time.ts";
import type { EventStore } from "../ports/eventStore.ts";

/** Streams whose changes are counted at once; the one that was changed the longest ago makes room. */
const STREAMS_MAX = 50_000;

/** So many changes of what lets mail go are kept for what stops it: whoever has switched too often can still do that. */
export const CHANGES_KEPT_FOR_STOPPING = 1;

/** A resource was changed as often as callers may change it in a day. */
export class ChangeRateError extends Error {
  override readonly name = "ChangeRateError";
  constructor(readonly retryAfterMs: number) {
    super("this was asked for as often as it can be in a day");
  }
}

/** How often one stream was changed since a time. */
interface Window {
  readonly since: EpochMs;
  readonly changes: number;
}

const windowsByStore = new WeakMap<EventStore, LRUCache<string, Window>>();

/**
 * Counts what callers change of streams that are there for good. Each change stays, and whoever reads the stream reads all
 * of them: without a bound one caller who switches something on and off makes it dear for everybody, for ever. Each
 * instance counts for itself; the operator and the workers are not counted.
 */
export function dailyChangeLimit(
  store: EventStore,
  stream: string,
  { actor, at }: Pick<CommandContext, "actor" | "at">,
  changesPerDayMax: number | undefined,
): { check(): void; count(): void } {
  if (changesPerDayMax === undefined || !actor.startsWith("api-key:")) return { check() {}, count() {} };
  const windows = windowsByStore.getOrInsertComputed(store, () => new LRUCache({ max: STREAMS_MAX }));
  const current = () => {
    const known = windows.get(stream);
    return known !== undefined && at < known.since + DAY_MS ? known : { since: at, changes: 0 };
  };
  return {
    check() {
      const { since, changes } = current();
      if (changes >= changesPerDayMax) throw new ChangeRateError(since + DAY_MS - at);
    },
    count() {
      const { since, changes } = current();
      windows.set(stream, { since, changes: changes + 1 });
    },
  };
}
