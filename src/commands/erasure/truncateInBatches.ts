import { type EventStore, type RecordedEvent, StoreError } from "../../ports/eventStore.ts";
import { streamPages } from "../transact.ts";

/** How many events one event can replace: their hashes take some 300 kB. */
const BATCH_EVENTS_MAX = 3_000;
/** How often to read a stream again because it has changed or is longer than one batch. */
const BATCHES_MAX = 1_000;

/** The first readable events of a stream, at most {@link BATCH_EVENTS_MAX}. */
async function readFirst(store: EventStore, stream: string): Promise<readonly RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  for await (const page of streamPages(store, stream)) {
    events.push(...page);
    if (events.length >= BATCH_EVENTS_MAX) break;
  }
  return events;
}

/**
 * Truncates a stream batch by batch. `truncate` receives the first readable events, and returns null to be called again
 * with new ones. Throws `StoreError`.
 */
export async function truncateInBatches<Outcome>(
  store: EventStore,
  stream: string,
  truncate: (events: readonly RecordedEvent[]) => Promise<Outcome | null>,
): Promise<Outcome> {
  for (let batch = 0; batch < BATCHES_MAX; batch += 1) {
    const outcome = await truncate(await readFirst(store, stream));
    if (outcome !== null) return outcome;
  }
  throw new StoreError(
    "unavailable",
    `${stream} kept changing during ${BATCHES_MAX} attempts to truncate it`,
  );
}
