import {
  APPEND_BYTES_MAX,
  type AppendResult,
  type EventStore,
  type ExpectedRevision,
  LOG_START,
  type LogBatch,
  type LogFilter,
  type NewEvent,
  type Position,
  type RecordedEvent,
  StoreError,
} from "../../../src/ports/eventStore.ts";

/** The maximum length of a batch of the log, before filtering. */
const BATCH_EVENTS_MAX = 500;
const POSITION_DIGITS = 16;

export interface MemoryEventStoreOptions {
  readonly batchEventsMax?: number;
  /** While it returns true, every call fails as `unavailable` and subscriptions pause. */
  readonly isUnavailable?: () => boolean;
}

function positionOf(index: number): Position {
  return String(index + 1).padStart(POSITION_DIGITS, "0") as Position;
}

/** The index of the first event after `position`. */
function indexAfter(position: Position): number {
  return position === LOG_START ? 0 : Number(position);
}

function bytesOf(events: readonly NewEvent[]): number {
  let bytes = 0;
  for (const { data, metadata } of events) {
    bytes += data instanceof Uint8Array ? data.length : Buffer.byteLength(JSON.stringify(data));
    bytes += Buffer.byteLength(JSON.stringify(metadata));
  }
  return bytes;
}

/** An event store in memory, which fulfils the port's whole contract. */
export function memoryEventStore(options: MemoryEventStoreOptions = {}): EventStore {
  const log: RecordedEvent[] = [];
  const streams = new Map<string, RecordedEvent[]>();
  const truncations = new Map<string, number>();
  const batchEventsMax = options.batchEventsMax ?? BATCH_EVENTS_MAX;
  const changes = new EventTarget();
  let isClosed = false;

  const requireStore = () => {
    if (isClosed || options.isUnavailable?.())
      throw new StoreError("unavailable", "the store is unavailable");
  };
  const lastOf = (stream: string) => (streams.get(stream)?.length ?? 0) - 1;
  const isReadable = ({ stream, revision }: RecordedEvent) => revision >= (truncations.get(stream) ?? 0);
  const head = () => (log.length === 0 ? LOG_START : positionOf(log.length - 1));

  const matcher = ({ types, streamPrefixes }: LogFilter) => {
    const wanted = types && new Set(types);
    return (event: RecordedEvent) =>
      isReadable(event) &&
      (wanted?.has(event.type) ?? true) &&
      (streamPrefixes?.some((prefix) => event.stream.startsWith(prefix)) ?? true);
  };
  const batchAfter = (
    from: Position,
    until: number,
    matches: (event: RecordedEvent) => boolean,
  ): LogBatch => {
    const start = indexAfter(from);
    const end = Math.min(start + batchEventsMax, until);
    const events = log.slice(start, end).filter(matches);
    return { events, position: end > start ? positionOf(end - 1) : from, caughtUp: end >= log.length };
  };

  /** The result of an earlier append of the same events with the same expected revision. */
  const earlierAppend = (stream: string, events: readonly NewEvent[], first: number) => {
    const recorded = streams.get(stream) ?? [];
    const isSame = events.every(({ id }, index) => recorded[first + index]?.id === id);
    const last = recorded[first + events.length - 1];
    return isSame && last ? appended(last) : undefined;
  };
  const appended = ({ revision, position }: RecordedEvent): AppendResult => {
    return { outcome: "appended", revision, position };
  };
  const record = (stream: string, event: NewEvent) => {
    const recorded = streams.get(stream) ?? [];
    // A copy, so that later changes to the appended objects do not reach the log.
    const stored = structuredClone(event);
    const entry = { ...stored, stream, revision: recorded.length, position: positionOf(log.length) };
    recorded.push(entry);
    streams.set(stream, recorded);
    log.push(entry);
    return entry;
  };

  const append = (stream: string, events: readonly NewEvent[], expected: ExpectedRevision): AppendResult => {
    if (bytesOf(events) > APPEND_BYTES_MAX) throw new StoreError("tooLarge", "the append is too large");
    const actual = lastOf(stream);
    const expectedRevision = expected === "noStream" ? -1 : expected;
    if (actual !== expectedRevision) {
      const wrong = { outcome: "wrongExpectedRevision", actual: actual < 0 ? null : actual } as const;
      return earlierAppend(stream, events, expectedRevision + 1) ?? wrong;
    }
    const last = events.map((event) => record(stream, event)).at(-1);
    if (!last) throw new StoreError("unavailable", "an append needs events");
    changes.dispatchEvent(new Event("change"));
    return appended(last);
  };

  return {
    async append(stream, events, expected) {
      requireStore();
      return append(stream, events, expected);
    },
    async read(stream, from, max) {
      requireStore();
      const events = streams.get(stream) ?? [];
      return events.filter((event) => event.revision >= from && isReadable(event)).slice(0, max);
    },
    async flush() {
      requireStore();
    },
    async lastRevision(stream) {
      requireStore();
      return lastOf(stream) < 0 ? null : lastOf(stream);
    },
    async *readAll(from, filter) {
      requireStore();
      const until = log.length;
      const matches = matcher(filter);
      for (let position = from; indexAfter(position) < until; ) {
        const batch = batchAfter(position, until, matches);
        position = batch.position;
        yield batch;
        requireStore();
      }
    },
    async *subscribe(from, filter, signal) {
      const matches = matcher(filter);
      let position = from;
      let hasReportedCaughtUp = false;
      while (!signal.aborted && !isClosed) {
        if (options.isUnavailable?.()) await nextTurn();
        else if (hasReportedCaughtUp && indexAfter(position) >= log.length) await nextChange(changes, signal);
        else {
          const batch = batchAfter(position, log.length, matches);
          position = batch.position;
          hasReportedCaughtUp = batch.caughtUp;
          yield batch;
        }
      }
    },
    async head() {
      requireStore();
      return head();
    },
    async truncateBefore(stream, revision) {
      requireStore();
      truncations.set(stream, Math.max(revision, truncations.get(stream) ?? 0));
    },
    async *truncations() {
      requireStore();
      yield [...truncations].map(([stream, before]) => ({ stream, before }));
    },
    async faults() {
      requireStore();
      return [];
    },
    async purge() {
      requireStore();
      return { remains: [] };
    },
    async close() {
      isClosed = true;
      changes.dispatchEvent(new Event("change"));
    },
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Resolves at the next change of the log, or when the signal aborts. */
function nextChange(changes: EventTarget, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      changes.removeEventListener("change", done);
      signal.removeEventListener("abort", done);
      resolve();
    };
    changes.addEventListener("change", done);
    signal.addEventListener("abort", done);
  });
}
