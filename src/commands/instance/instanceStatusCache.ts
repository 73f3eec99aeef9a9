import { INSTANCE_STREAM, type InstanceEvent, instanceCodec } from "../../domain/instance/events.ts";
import { type InstanceState, instanceDecider } from "../../domain/instance/state.ts";
import type { StoredEvent } from "../../kernel/event/eventCodec.ts";
import type { EventStore, Position, RecordedEvent } from "../../ports/eventStore.ts";
import { aggregateCache } from "../aggregateCache.ts";
import type { Aggregate } from "../transact.ts";

/** The status of the log: its instance, and the position of the last restoration. */
export interface InstanceStatus {
  readonly instance: InstanceState;
  /** Everything before this position is from before the restoration; null if the log was never restored. */
  readonly restoredPosition: Position | null;
}

type PositionedEvent = InstanceEvent & { readonly position: Position };

const instanceStatusAggregate: Aggregate<InstanceStatus, PositionedEvent> = {
  stream: INSTANCE_STREAM,
  decider: {
    initialState: { instance: null, restoredPosition: null },
    evolve: ({ instance, restoredPosition }, event) => ({
      instance: instanceDecider.evolve(instance, event),
      restoredPosition: event.type === "InstanceRestored" ? event.position : restoredPosition,
    }),
  },
  codec: {
    ...instanceCodec,
    decode(stored: StoredEvent) {
      return { ...instanceCodec.decode(stored), position: (stored as RecordedEvent).position };
    },
  },
};

/** The status of the log, at most a second old. */
export interface InstanceStatusCache {
  /** What {@link get} would return, if that needs no waiting; else null. */
  known(): InstanceStatus | null;
  /** Throws `StoreError` if the status is stale and the store cannot be read. */
  get(): Promise<InstanceStatus>;
}

export function instanceStatusCache(store: EventStore): InstanceStatusCache {
  const folds = aggregateCache(store, { of: () => instanceStatusAggregate });
  return {
    known: () => folds.known(INSTANCE_STREAM)?.state ?? null,
    get: () => folds.get(INSTANCE_STREAM),
  };
}
