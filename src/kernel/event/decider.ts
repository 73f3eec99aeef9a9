/** One event of a decision. `type` is its stored name, `data` a JSON object. */
export interface DomainEvent {
  readonly type: string;
  readonly data: object;
}

/** A decision: an outcome for the caller, and the events that bring it about. Without events nothing is written. */
export interface Decision<Outcome, Event extends DomainEvent> {
  readonly outcome: Outcome;
  readonly events: readonly Event[];
}

/**
 * The state of an aggregate as a pure, total fold of its events. `evolve` closes its union with `never`; unknown events
 * never reach it, because the codec stops them.
 */
export interface Decider<State, Event extends DomainEvent> {
  readonly initialState: State;
  readonly evolve: (state: State, event: Event) => State;
}

/** Makes a decision. */
export function decided<const Outcome, Event extends DomainEvent>(
  outcome: Outcome,
  ...events: readonly Event[]
): Decision<Outcome, Event> {
  return { outcome, events };
}
