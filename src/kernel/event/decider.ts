/** One event as a decision produces it: `type` is the storage format, `data` is a JSON object. */
export interface DomainEvent {
  readonly type: string;
  readonly data: object;
}

/** What a decision says: an outcome for the caller, and the events that make it so. No events, no write. */
export interface Decision<Outcome, Event extends DomainEvent> {
  readonly outcome: Outcome;
  readonly events: readonly Event[];
}

/**
 * The state of an aggregate as a fold of its events: plain, pure and total. `evolve` closes its union with `never`;
 * unknown events never reach it, because the codec stops them.
 */
export interface Decider<State, Event extends DomainEvent> {
  readonly initialState: State;
  readonly evolve: (state: State, event: Event) => State;
}

/** A decision: without events nothing is written. */
export function decided<const Outcome, Event extends DomainEvent>(
  outcome: Outcome,
  ...events: readonly Event[]
): Decision<Outcome, Event> {
  return { outcome, events };
}
