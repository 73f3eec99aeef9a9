import { keyIdOf } from "../kernel/event/actor.ts";
import type { CommandContext } from "../kernel/event/commandContext.ts";
import { DAY_MS } from "../kernel/time.ts";
import type { EventStore } from "../ports/eventStore.ts";
import { FixedWindowCounter } from "./fixedWindowCounter.ts";

/** Streams whose changes are counted at a time. */
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

const countersByStore = new WeakMap<EventStore, FixedWindowCounter>();

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
  const changed = countersByStore.getOrInsertComputed(
    store,
    () => new FixedWindowCounter(DAY_MS, STREAMS_MAX),
  );
  return {
    check() {
      const { events, restMs } = changed.read(stream, at);
      if (events >= changesPerDayMax) throw new ChangeRateError(restMs);
    },
    count() {
      changed.count(stream, at);
    },
  };
}
