import { codecOfType } from "../domain/allEventCodecs.ts";
import { invariant } from "../kernel/assert.ts";
import type { CommandContext } from "../kernel/event/commandContext.ts";
import type { Decider, Decision, DomainEvent } from "../kernel/event/decider.ts";
import type { Codec, StoredEvent } from "../kernel/event/eventCodec.ts";
import { metadataOf } from "../kernel/event/eventMetadata.ts";
import { newId } from "../kernel/ids.ts";
import type { EventStore, NewEvent, RecordedEvent, StreamReader } from "../ports/eventStore.ts";
import { ConflictRetry } from "./conflictRetry.ts";
import { resourceChangeRateLimit } from "./resourceChangeRateLimit.ts";
import { queueStreamWrite } from "./streamWriteQueue.ts";

/** Events of one stream that are read at once. */
const PAGE_EVENTS = 500;

/** How a kind of aggregate is stored: its fold and its codec. */
interface AggregateRules<State, Event extends DomainEvent> {
  readonly decider: Decider<State, Event>;
  readonly codec: Codec<Event>;
  /** Turns an event into the data to store, if that differs. */
  readonly encode?: (event: Event) => object;
}

/** One aggregate: its kind and its stream. */
export interface Aggregate<State, Event extends DomainEvent> extends AggregateRules<State, Event> {
  readonly stream: string;
}

/** A kind of aggregate; `of` gives the one with this id. */
export interface AggregateKind<State, Event extends DomainEvent> extends AggregateRules<State, Event> {
  of(id: string): Aggregate<State, Event>;
}

/** An aggregate's state at a revision of its stream; null if the stream was never written. */
export interface Loaded<State> {
  readonly state: State;
  readonly revision: number | null;
}

/** Folds a stream from its first readable event, or continues from the loaded state `since`. Throws `StoreError`. */
export async function load<State, Event extends DomainEvent>(
  store: StreamReader,
  { decider, codec, stream }: Aggregate<State, Event>,
  since: Loaded<State> = { state: decider.initialState, revision: null },
): Promise<Loaded<State>> {
  let { state, revision } = since;
  for await (const page of streamPages(store, stream, revision === null ? 0 : revision + 1)) {
    for (const event of page) {
      state = decider.evolve(state, codec.decode(event as StoredEvent));
      revision = event.revision;
    }
  }
  return { state, revision };
}

/** The pages of a stream from a revision on, in its order. Throws `StoreError`. */
export async function* streamPages(
  store: StreamReader,
  stream: string,
  from = 0,
  pageEvents = PAGE_EVENTS,
): AsyncGenerator<readonly RecordedEvent[]> {
  for (let next = from; ; ) {
    const page = await store.read(stream, next, pageEvents);
    yield page;
    if (page.length < pageEvents) return;
    next = (page.at(-1)?.revision ?? next) + 1;
  }
}

/** When a stream began (RFC 3339). Only for existing streams that are never truncated. */
export async function writtenFirstAt(store: EventStore, stream: string): Promise<string> {
  const [first] = await store.read(stream, 0, 1);
  invariant(first, "a stream that was folded to something has a first event");
  return String(first.metadata.at);
}

/** Turns a decision's events into what a store appends: new ids, and data and metadata in the version that we write. */
export function toNewEvents(events: readonly DomainEvent[], context: CommandContext): readonly NewEvent[] {
  const metadata = metadataOf(context);
  return events.map((event) => {
    const { type } = event;
    const encoded = codecOfType(type)?.encode(event);
    const isFirst = encoded === undefined || encoded.schema === metadata.schema;
    const own = isFirst ? metadata : { ...metadata, schema: encoded.schema };
    return { id: newId(), type, data: encoded?.data ?? event.data, metadata: own };
  });
}

/** The limit on a caller's changes to an aggregate. */
export interface ChangeRateLimit {
  /** How often callers may change it in a day; absent: no limit. */
  readonly changesPerDayMax?: number;
  /** The name under which its changes are counted; absent: with all others of the stream. */
  readonly countedAs?: string;
}

/** Decides on the state at which the events are appended. What it reads for that, it reads again with every retry. */
export type Decide<State, Event extends DomainEvent, Outcome> = (
  state: State,
) => Decision<Outcome, Event> | Promise<Decision<Outcome, Event>>;

/** The aggregate to change. `since` returns a known state, so the stream need not be read from its start. */
interface Written<State, Event extends DomainEvent> extends Aggregate<State, Event>, ChangeRateLimit {
  readonly since?: () => Loaded<State> | Promise<Loaded<State>>;
}

/**
 * load -> decide -> append at the loaded revision; all of it again if another instance was first. Writers of this instance
 * take turns. A decision without events writes nothing, and returns once the state it was made from is on disk. Throws
 * `StoreError`, and `ChangeRateError` if callers have made too many changes.
 */
export async function transact<State, Event extends DomainEvent, Outcome>(
  store: EventStore,
  aggregate: Written<State, Event>,
  decide: Decide<State, Event, Outcome>,
  context: CommandContext,
): Promise<Outcome> {
  const { stream, countedAs = stream, changesPerDayMax } = aggregate;
  return queueStreamWrite(store, stream, async () => {
    const retry = new ConflictRetry(stream);
    const rate = resourceChangeRateLimit(store, countedAs, context, changesPerDayMax);
    for (;;) {
      const { state, revision } = await load(store, aggregate, await aggregate.since?.());
      const { outcome, events } = await decide(state);
      if (events.length === 0) {
        // The state may come from somebody else's append that still waits for the disk.
        if (revision !== null) await store.flush();
        return outcome;
      }
      rate.check();
      const stored = events.map((event) => ({ ...event, data: aggregate.encode?.(event) ?? event.data }));
      const result = await store.append(stream, toNewEvents(stored, context), revision ?? "noStream");
      if (result.outcome === "appended") {
        rate.count();
        return outcome;
      }
      await retry.lost();
    }
  });
}

/** Like {@link transact}, from a known state. Reads the stream only if somebody else has written it since. */
export async function transactFrom<State, Event extends DomainEvent>(
  store: EventStore,
  known: Aggregate<State, Event> & Loaded<State>,
  decide: (state: State) => Decision<unknown, Event>,
  context: CommandContext,
): Promise<void> {
  const { events } = decide(known.state);
  if (events.length === 0) return;
  const revision = known.revision ?? "noStream";
  const result = await store.append(known.stream, toNewEvents(events, context), revision);
  if (result.outcome !== "appended") await transact(store, known, decide, context);
}
