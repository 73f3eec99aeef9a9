import { type EventStore, type RecordedEvent, StoreError } from "../../ports/eventStore.ts";

/** Events that one event can replace: their leaves make some 300 kB. */
const CUT_EVENTS_MAX = 3_000;
const PAGE_EVENTS = 500;
/** How often a stream is looked at anew because it has moved, or because it is longer than one cut. */
const ROUNDS_MAX = 1_000;

/** The first events of a stream that can be read, at most {@link CUT_EVENTS_MAX}. */
async function readFirst(store: EventStore, stream: string): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  while (events.length < CUT_EVENTS_MAX) {
    const page = await store.read(stream, (events.at(-1)?.revision ?? -1) + 1, PAGE_EVENTS);
    events.push(...page);
    if (page.length < PAGE_EVENTS) break;
  }
  return events;
}

/**
 * Cuts events off a stream, round by round: `cut` gets the first that are there, and gives null as long as it has to see
 * them anew. Throws `StoreError`.
 */
export async function cutInRounds<Outcome>(
  store: EventStore,
  stream: string,
  cut: (events: readonly RecordedEvent[]) => Promise<Outcome | null>,
): Promise<Outcome> {
  for (let round = 0; round < ROUNDS_MAX; round += 1) {
    const outcome = await cut(await readFirst(store, stream));
    if (outcome !== null) return outcome;
  }
  throw new StoreError("unavailable", `${stream} changed under ${ROUNDS_MAX} attempts to cut it off`);
}
