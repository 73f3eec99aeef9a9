import type { DomainEvent } from "../kernel/event/decider.ts";
import { type EventStore, LOG_START } from "../ports/eventStore.ts";
import type { AggregateKind } from "./transact.ts";

/** All aggregates of a kind by id, folded in one read of the log. Throws `StoreError`. */
export async function loadAllOfKind<State, Event extends DomainEvent>(
  store: EventStore,
  { decider, codec, of }: AggregateKind<State, Event>,
): Promise<ReadonlyMap<string, NonNullable<State>>> {
  const prefix = of("").stream;
  const states = new Map<string, State>();
  for await (const { events } of store.readAll(LOG_START, { types: codec.types })) {
    for (const recorded of events) {
      const id = recorded.stream.slice(prefix.length);
      states.set(id, decider.evolve(states.get(id) ?? decider.initialState, codec.decode(recorded)));
    }
  }
  return new Map([...states].flatMap(([id, state]) => (state ? [[id, state] as const] : [])));
}
