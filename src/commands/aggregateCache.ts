import { LRUCache } from "lru-cache";
import type { CommandContext } from "../kernel/event/commandContext.ts";
import type { DomainEvent } from "../kernel/event/decider.ts";
import type { EventStore } from "../ports/eventStore.ts";
import {
  type AggregateKind,
  type ChangeRateLimit,
  type Decide,
  type Loaded,
  load,
  transact,
} from "./transact.ts";

/** We promise states at most one second old, counted from the start of a read. The rest is for the decision itself. */
const AGE_MS_MAX = 900;
const ENTRIES_MAX = 10_000;

/** States that decisions look at, folded from their own streams and no older than a second. */
export interface AggregateCache<State, Event extends DomainEvent = DomainEvent> {
  /** What {@link loaded} returns if that needs no promise; else null. */
  known(id: string): Loaded<State> | null;
  /** The state of `id`. Throws `StoreError` if it is stale and the store cannot be read. */
  get(id: string): Promise<State>;
  /**
   * The state with its revision, from which newer events can be read. Not a promise if it is in memory and fresh, because
   * one send asks five times.
   */
  loaded(id: string): Loaded<State> | Promise<Loaded<State>>;
  /** Marks `id` as stale, so what this instance has just written shows at once. */
  forget(id: string): void;
  /**
   * Like {@link transact}, but reads only what is newer than the cached state. What it writes shows at once on this
   * instance.
   */
  transact<Outcome>(
    id: string,
    decide: Decide<State, Event, Outcome>,
    context: CommandContext,
    limit?: ChangeRateLimit,
  ): Promise<Outcome>;
}

/** A read of a stream, done or in flight: concurrent callers share it. */
interface Entry<State> {
  readonly loading: Promise<Loaded<State>>;
  /** By the monotonic clock; 0 for an entry that is stale from the start. */
  readonly freshUntil: number;
  /** A stale state is still a fold of the stream's beginning: the next read continues from it. */
  loaded: Loaded<State> | undefined;
  /** Whether `loaded` is the result of `loading`. */
  isLoaded: boolean;
}

/** Unknown ids are cached too, within the same bound, so repeated guesses cost no reads of the store. */
export function aggregateCache<State, Event extends DomainEvent>(
  store: EventStore,
  kind: Pick<AggregateKind<State, Event>, "of">,
): AggregateCache<State, Event> {
  const entries = new LRUCache<string, Entry<State>>({ max: ENTRIES_MAX });

  const read = (id: string, known: Loaded<State> | undefined): Entry<State> => {
    const loading = load(store, kind.of(id), known);
    const entry: Entry<State> = {
      loading,
      freshUntil: performance.now() + AGE_MS_MAX,
      loaded: known,
      isLoaded: false,
    };
    entries.set(id, entry);
    loading.then(
      (loaded) => {
        entry.loaded = loaded;
        entry.isLoaded = true;
      },
      () => {
        if (entries.peek(id) === entry) entries.delete(id);
      },
    );
    return entry;
  };
  const fresh = (id: string): Entry<State> => {
    const entry = entries.get(id);
    if (entry && performance.now() < entry.freshUntil) return entry;
    return read(id, entry?.loaded);
  };

  const known = (id: string): Loaded<State> | null => {
    const entry = entries.get(id);
    if (!entry?.isLoaded || performance.now() >= entry.freshUntil) return null;
    return entry.loaded ?? null;
  };

  const loaded = (id: string) => known(id) ?? fresh(id).loading;
  const forget = (id: string): void => {
    const last = entries.peek(id)?.loaded;
    if (last === undefined) entries.delete(id);
    else entries.set(id, { loading: Promise.resolve(last), freshUntil: 0, loaded: last, isLoaded: false });
  };
  return {
    known,
    get: async (id) => (await fresh(id).loading).state,
    loaded,
    forget,
    async transact(id, decide, context, limit) {
      const aggregate = { ...kind.of(id), since: () => loaded(id), ...limit };
      const outcome = await transact(store, aggregate, decide, context);
      forget(id);
      return outcome;
    },
  };
}
