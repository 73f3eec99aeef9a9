import { join } from "node:path";
import type { Projection } from "../../../projections/projection.ts";
import { connectEventStoreDb } from "../../../src/adapters/eventstoredb/eventStoreDb.ts";
import { openSqliteEventStore } from "../../../src/adapters/sqlite/sqliteEventStore.ts";
import { type EventStore, LOG_START, type NewEvent } from "../../../src/ports/eventStore.ts";
import type { SqlRow } from "../../../src/ports/readDatabase.ts";
import { type Added, added, erased, tally } from "../../readModels/followFixtures.ts";

const EVENTS_PER_APPEND = 50;
const STREAMS = 40;
const ERASED_EVERY = 97;

/** Opens a log for events of no stream of ours, which readers of a service's log would not get from EventStoreDB. */
export async function openTallyStore(storeUrl: string): Promise<EventStore> {
  const timeoutMs = 5_000;
  if (!storeUrl.startsWith("file:")) return await connectEventStoreDb({ url: storeUrl, timeoutMs });
  return openSqliteEventStore({ path: join(storeUrl.slice("file:".length), "events.db"), timeoutMs });
}

/** A read model of one run's own events: the log may be shared with other tests. */
export function tallyOf(run: string): Projection {
  return {
    ...tally,
    name: `tally-${run}`,
    events: [`Added-${run}`, `Erased-${run}`],
    apply: (event, db) => tally.apply({ ...event, type: event.type.replace(`-${run}`, "") }, db),
  };
}

/** An event of one run. */
export function typed(event: NewEvent, run: string): NewEvent {
  return { ...event, type: `${event.type}-${run}` };
}

/** Writes `count` events of a run over some streams. */
export async function writeTallyLog(store: EventStore, run: string, count: number): Promise<void> {
  for (let from = 0; from < count; from += EVENTS_PER_APPEND) {
    const stream = `${run}-${(from / EVENTS_PER_APPEND) % STREAMS}`;
    const events = Array.from({ length: EVENTS_PER_APPEND }, (_, index) =>
      typed((from + index) % ERASED_EVERY === 0 ? erased() : added(from + index), run),
    );
    const last = await store.lastRevision(stream);
    const { outcome } = await store.append(stream, events, last ?? "noStream");
    if (outcome !== "appended") throw new Error("the append lost a race");
  }
}

/** The sums by stream as a plain fold of the log. */
export async function foldSums(store: EventStore, run: string): Promise<readonly SqlRow[]> {
  const sums = new Map<string, { stream: string; count: number; sum: number }>();
  for await (const { events } of store.readAll(LOG_START, { streamPrefixes: [`${run}-`] })) {
    for (const { stream, type, data } of events) {
      const { count, sum } = sums.get(stream) ?? { count: 0, sum: 0 };
      if (type.startsWith("Erased")) sums.delete(stream);
      else sums.set(stream, { stream, count: count + 1, sum: sum + (data as Added).amount });
    }
  }
  return [...sums.values()].sort((a, b) => (a.stream < b.stream ? -1 : 1));
}
