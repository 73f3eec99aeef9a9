import { LRUCache } from "lru-cache";
import type { DomainEvent } from "../kernel/decider.ts";
import type { EventStore } from "../ports/eventStore.ts";
import { type Aggregate, type Loaded, load } from "./transact.ts";

/** The promise is one second; the rest is for the read itself. */
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
  const entries = new LRUCache<string, Loaded<State>>({
    max: ENTRIES_MAX,
    ttl: AGE_MS_MAX,
    // What is too old is still a fold of the stream's beginning, so that only what is new since is read.
    noDeleteOnStaleGet: true,
    fetchMethod: (id, stale) => load(store, aggregate, streamOf(id), stale),
  });
  return {
    async get(id) {
      const entry = entries.get(id) ?? (await entries.fetch(id)) ?? (await entries.forceFetch(id));
      return entry.state;
    },
    forget: (id) => {
      entries.delete(id);
    },
  };
}
