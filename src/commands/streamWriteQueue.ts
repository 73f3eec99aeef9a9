import { type EventStore, StoreError } from "../ports/eventStore.ts";

/** Writers of one stream that may wait for their turn on one instance. */
const WRITERS_WAITING_MAX = 1_000;
/** After a longer wait the caller has already been answered, or is about to be. */
const TURN_WAIT_MS_MAX = 8_000;

/** Others keep one stream busy. Nothing was written, and a retry a little later may succeed. */
export class StreamBusyError extends StoreError {
  constructor(stream: string, why: string) {
    super("unavailable", `${stream} is busy: ${why}`);
  }
}

/** The waiting writers, by stream. The list is empty while one writer is at work and nobody waits. */
type Queues = Map<string, (() => void)[]>;

const queuesByStore = new WeakMap<EventStore, Queues>();

/**
 * Runs `work` while nobody else on this instance writes the stream, in the order of the calls: concurrent writers would
 * only make each other start over. Throws {@link StreamBusyError} without having run it.
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
    if (queue.length >= WRITERS_WAITING_MAX)
      throw new StreamBusyError(stream, `${queue.length} writers wait for it`);
    await new Promise<void>((resolve) => queue.push(resolve));
  }
  try {
    const waitedMs = Math.round(performance.now() - since);
    if (waitedMs > TURN_WAIT_MS_MAX) throw new StreamBusyError(stream, `no turn to write in ${waitedMs} ms`);
    return await work();
  } finally {
    const next = queues.get(stream)?.shift();
    if (next === undefined) queues.delete(stream);
    else next();
  }
}
