import { LRUCache } from "lru-cache";
import { keyIdOf } from "../kernel/event/actor.ts";
import type { CommandContext } from "../kernel/event/commandContext.ts";
import { DAY_MS, type EpochMs } from "../kernel/time.ts";
import type { EventStore } from "../ports/eventStore.ts";

/** Streams whose changes are counted at a time; the least recently used one is evicted. */
const STREAMS_MAX = 50_000;

/** How many changes are reserved for stopping mail: a caller who has switched too often can still do that. */
export const CHANGES_KEPT_FOR_STOPPING = 1;

/** Callers have changed a resource as often as they may in a day. */
export class ChangeRateError extends Error {
  override readonly name = "ChangeRateError";
  constructor(readonly retryAfterMs: number) {
    super("this was requested as often as it may be in a day");
  }
}

/** How often one stream was changed since a time. */
interface Window {
  readonly since: EpochMs;
  readonly changes: number;
}

const windowsByStore = new WeakMap<EventStore, LRUCache<string, Window>>();

/**
 * Counts how often callers change a stream that is never truncated. Every later read of the stream reads all changes, so
 * without a bound one caller who keeps switching something on and off would slow it down for everybody, for good. Each
 * instance counts for itself; changes by the operator and by workers do not count. Each command names its own
 * `changesPerDayMax`.
 */
export function resourceChangeRateLimit(
  store: EventStore,
  stream: string,
  { actor, at }: Pick<CommandContext, "actor" | "at">,
  changesPerDayMax: number | undefined,
): { check(): void; count(): void } {
  if (changesPerDayMax === undefined || keyIdOf(actor) === null) return { check() {}, count() {} };
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
