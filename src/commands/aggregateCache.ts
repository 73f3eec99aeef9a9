import { LRUCache } from "lru-cache";
import type { CommandContext } from "../kernel/event/commandContext.ts";
import type { Decision, DomainEvent } from "../kernel/event/decider.ts";
import type { EventStore } from "../ports/eventStore.ts";
import { type AggregateKind, type Loaded, load, transact } from "./transact.ts";

/** The promise is one second, counted from when a read begins; the rest is for the decision itself. */
const AGE_MS_MAX = 900;
const ENTRIES_MAX = 10_000;

/** States that decisions look at, folded from their own streams and no older than a second. */
export interface AggregateCache<State, Event extends DomainEvent = DomainEvent> {
  /** What {@link loaded} answers without a promise; else null. */
  known(id: string): Loaded<State> | null;
  /** The state of `id`. Throws `StoreError` when it is not fresh and the store cannot be read. */
  get(id: string): Promise<State>;
  /**
   * The same with its revision: from where on to read what is newer. No promise where it is in memory and fresh: a send
   * asks five times.
   */
  loaded(id: string): Loaded<State> | Promise<Loaded<State>>;
  /** Forgets `id`: what this instance has just written shows at once. */
  forget(id: string): void;
  /**
   * As {@link transact}, from what is known of `id` on; what it writes shows at once on this instance.
   * `changesPerDayMax`: how often callers may change `id` in a day, where they may go on doing so.
   */
  transact<Outcome>(
    id: string,
    decide: (state: State) => Decision<Outcome, Event>,
    context: CommandContext,
    changesPerDayMax?: number,
  ): Promise<Outcome>;
}

/** What was read of a stream, or is being read: who asks meanwhile shares it. */
interface Entry<State> {
  readonly loading: Promise<Loaded<State>>;
  /** By the monotonic clock; nothing is fresh that began before it. */
  readonly freshUntil: number;
  /** What is too old is still a fold of the stream's beginning: only what is new since is read. */
  loaded: Loaded<State> | undefined;
  /** Whether `loaded` is what `loading` came to. */
  isLoaded: boolean;
}

/** Unknown ids are kept too, within the same bound, so that guessing at ids costs no reads of the store. */
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
    async transact(id, decide, context, changesPerDayMax) {
      const aggregate = { ...kind.of(id), since: () => loaded(id), changesPerDayMax };
      const outcome = await transact(store, aggregate, decide, context);
      forget(id);
      return outcome;
    },
  };
}
