import { LRUCache } from "lru-cache";
import type { DomainEvent } from "../kernel/decider.ts";
import type { EventStore } from "../ports/eventStore.ts";
import { type Aggregate, load } from "./transact.ts";

/** The promise is one second, counted from when a read begins; the rest is for the decision itself. */
const AGE_MS_MAX = 900;
const ENTRIES_MAX = 10_000;

/** States that decisions look at, folded from their own streams and no older than a second. */
export interface FoldCache<State> {
  /** The state of `id`. Throws `StoreError` when it is not fresh and the store cannot be read. */
  get(id: string): Promise<State>;
  /** Forgets `id`: what this instance has just written shows at once. */
  forget(id: string): void;
}

/** Unknown ids are kept too, within the same bound, so that guessing at ids costs no reads of the store. */
export function foldCache<State, Event extends DomainEvent>(
  store: EventStore,
  aggregate: Aggregate<State, Event>,
  streamOf: (id: string) => string,
): FoldCache<State> {
  // Reads under way are entries too: who asks meanwhile shares them, and who asks after `forget` begins a new one.
  const entries = new LRUCache<string, { readonly state: Promise<State> }>({
    max: ENTRIES_MAX,
    ttl: AGE_MS_MAX,
  });
  const read = (id: string): Promise<State> => {
    const entry = { state: load(store, aggregate, streamOf(id)).then(({ state }) => state) };
    entries.set(id, entry);
    entry.state.catch(() => {
      if (entries.peek(id) === entry) entries.delete(id);
    });
    return entry.state;
  };
  return {
    get: (id) => entries.get(id)?.state ?? read(id),
    forget: (id) => {
      entries.delete(id);
    },
  };
}
