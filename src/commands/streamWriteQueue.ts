import { type EventStore, StoreError } from "../ports/eventStore.ts";

/** Writers of one stream that wait for their turn at once on one instance. */
const WRITERS_WAITING_MAX = 1_000;
/** Who has waited longer for a turn has been answered already, or is about to be. */
const TURN_WAIT_MS_MAX = 8_000;

/** Too many want to write one stream. Nothing was written: the same a little later may succeed. */
export class StreamBusyError extends StoreError {
  constructor(stream: string) {
    super("unavailable", `too many want to write ${stream}`);
  }
}

/** Those who wait for their turn, by stream; an entry without any while somebody is at it alone. */
type Queues = Map<string, (() => void)[]>;

const queuesByStore = new WeakMap<EventStore, Queues>();

/**
 * Does `work` when nobody else of this instance is at the stream, in the order of the calls: writers of one stream
 * would only make one another begin anew. Throws {@link StreamBusyError}, having done nothing.
 */
export async function queueStreamWrite<Result>(
  store: EventStore,
  stream: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const queues = queuesByStore.getOrInsertComputed(store, () => new Map());
  const queue = queues.get(stream);
  if (queue === undefined) queues.set(stream, []);
  const since = performance.now();
  if (queue !== undefined) {
    if (queue.length >= WRITERS_WAITING_MAX) throw new StreamBusyError(stream);
    await new Promise<void>((resolve) => queue.push(resolve));
  }
  try {
    if (performance.now() - since > TURN_WAIT_MS_MAX) throw new StreamBusyError(stream);
    return await work();
  } finally {
    const next = queues.get(stream)?.shift();
    if (next === undefined) queues.delete(stream);
    else next();
  }
}
