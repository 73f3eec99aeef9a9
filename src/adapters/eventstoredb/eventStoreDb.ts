import { settleWithin } from "../../kernel/concurrency/sleep.ts";
import { InFlightSet } from "../../kernel/shortLivedCollections.ts";
import type {
  AppendResult,
  CallOptions,
  EventStore,
  ExpectedRevision,
  LogBatch,
  LogFilter,
  NewEvent,
  Position,
  PurgeReport,
  RecordedEvent,
  StoreFault,
  Truncation,
} from "../../ports/eventStore.ts";
import { LOG_START, StoreError } from "../../ports/eventStore.ts";
import { append, probeRevision, untilReadable } from "./append/append.ts";
import { ConflictsNotYetVisible } from "./append/conflictsNotYetVisible.ts";
import { PipelinedAppends } from "./append/pipelinedAppends.ts";
import { type Connection, closeConnection, openConnection } from "./connection.ts";
import { type Deadline, deadlineIn } from "./deadline.ts";
import type { IsOwnEvent } from "./read/logFilters.ts";
import { readLog } from "./read/readLog.ts";
import { readLogHead } from "./read/readLogHead.ts";
import { resumingSubscription } from "./read/resumingSubscription.ts";
import { readForwards, readNewest } from "./read/streamReads.ts";
import { scavenge } from "./scavenge.ts";
import { readTruncations, truncate } from "./truncate.ts";
import { unexpectedStreamMetadata } from "./unexpectedStreamMetadata.ts";

const TIMEOUT_MS = 5_000;
/** How long calls in flight may take once the store is to be closed; then they fail. */
const SETTLE_MS_MAX = 500;
/** A scavenge rewrites every chunk that contains something to remove. */
const PURGE_TIMEOUT_MS = 10 * 60_000;

interface EventStoreDbOptions {
  /** The vendor's connection string, `esdb://…` or `esdb+discover://…`. */
  readonly url: string;
  /** How long a call may take that names no time limit, in ms. */
  readonly timeoutMs?: number;
  /** Whether appends reach the log in call order, although none waits for the one before. */
  readonly inOrder?: boolean;
  /** Readers that ask for types get only these events. By default no other application uses the server. */
  readonly isOwn?: IsOwnEvent;
  /** Settings and links are reported only of these streams. By default all are ours. */
  readonly isOwnStream?: (stream: string) => boolean;
}

/**
 * The store on EventStoreDB 24.2 or newer. It connects at the first call, which throws `unavailable` if the server is
 * unreachable. Rejects when `url` is not a connection string.
 */
export async function connectEventStoreDb(options: EventStoreDbOptions): Promise<EventStore> {
  const connection = openConnection(options.url);
  const pipelined = options.inOrder === true ? new PipelinedAppends(connection) : null;
  return new EventStoreDb({ timeoutMs: TIMEOUT_MS, ...options }, connection, pipelined);
}

class EventStoreDb implements EventStore {
  private readonly closing = new AbortController();
  private readonly inFlight = new InFlightSet<Promise<unknown>>();
  private readonly conflicts = new ConflictsNotYetVisible();

  constructor(
    private readonly options: EventStoreDbOptions & { readonly timeoutMs: number },
    private readonly connection: Connection,
    private readonly pipelined: PipelinedAppends | null,
  ) {}

  append(
    stream: string,
    events: readonly NewEvent[],
    expected: ExpectedRevision,
    options?: CallOptions,
  ): Promise<AppendResult> {
    return this.call(options, (deadline) => {
      if (this.pipelined !== null) return this.pipelined.append(stream, events, expected, deadline);
      return append(this.connection, { stream, events, expected }, deadline, this.conflicts);
    });
  }

  read(stream: string, from: number, max: number, options?: CallOptions): Promise<readonly RecordedEvent[]> {
    return this.call(options, (deadline) => this.readPastConflict(stream, { from, max }, deadline));
  }

  /** Does nothing, because the server shows only durable events. */
  async flush(): Promise<void> {
    this.requireOpen();
  }

  lastRevision(stream: string, options?: CallOptions): Promise<number | null> {
    return this.call(options, (deadline) => this.lastRevisionOf(stream, deadline));
  }

  async *readAll(from: Position, filter: LogFilter, options?: CallOptions): AsyncGenerator<LogBatch> {
    this.requireOpen();
    const reading = { from, filter, isOwn: this.options.isOwn, signal: this.closing.signal };
    yield* readLog(this.connection.reads, reading, options?.timeoutMs ?? this.options.timeoutMs);
  }

  async *subscribe(from: Position, filter: LogFilter, signal: AbortSignal): AsyncGenerator<LogBatch> {
    this.requireOpen();
    const reading = {
      from,
      filter,
      isOwn: this.options.isOwn,
      signal: AbortSignal.any([signal, this.closing.signal]),
    };
    yield* resumingSubscription(this.connection.reads, reading, this.options.timeoutMs);
  }

  head(options?: CallOptions): Promise<Position> {
    return this.call(options, (deadline) => readLogHead(this.connection.reads, deadline));
  }

  truncateBefore(stream: string, revision: number, options?: CallOptions): Promise<void> {
    return this.call(options, async (deadline) => {
      const last = await this.lastRevisionOf(stream, deadline);
      if (last !== null) await truncate(this.connection, { stream, revision, last }, deadline);
    });
  }

  async *truncations(options?: CallOptions): AsyncGenerator<readonly Truncation[]> {
    this.requireOpen();
    const reading = { from: LOG_START, signal: this.closing.signal };
    yield* readTruncations(this.connection.reads, reading, options?.timeoutMs ?? this.options.timeoutMs);
  }

  async faults(depth: "quick" | "whole", options?: CallOptions): Promise<readonly StoreFault[]> {
    this.requireOpen();
    // The server checks its own files, and has no quick query for the result.
    if (depth === "quick") return [];
    // The look may take minutes, and a server that does not answer at all need not.
    await this.head();
    const { signal } = this.closing;
    const { isOwnStream = () => true } = this.options;
    return unexpectedStreamMetadata(
      this.connection.reads,
      { signal, isOwnStream },
      options?.timeoutMs ?? this.options.timeoutMs,
    );
  }

  purge(options?: CallOptions): Promise<PurgeReport> {
    const { signal } = this.closing;
    return this.call({ timeoutMs: options?.timeoutMs ?? PURGE_TIMEOUT_MS }, (deadline) =>
      scavenge(this.options.url, this.connection.reads, deadline, signal),
    );
  }

  async close(): Promise<void> {
    if (this.closing.signal.aborted) return;
    this.closing.abort();
    const settled = Promise.allSettled(this.inFlight.values()).then(() => {});
    await settleWithin(SETTLE_MS_MAX, settled, () => {});
    await closeConnection(this.connection);
  }

  /** Reads a slice. Waits for the revision that an append to `stream` lost to, if it belongs to the slice. */
  private async readPastConflict(
    stream: string,
    slice: { readonly from: number; readonly max: number },
    deadline: Deadline,
  ): Promise<readonly RecordedEvent[]> {
    const conflict = this.conflicts.of(stream);
    const events = await readForwards(this.connection.reads, stream, slice, deadline);
    if (conflict === null) return events;
    const last = events.at(-1)?.revision ?? -1;
    if (last < conflict && conflict >= slice.from && events.length < slice.max) {
      await untilReadable(this.connection, stream, conflict, deadline);
      this.conflicts.wasRead(stream, conflict);
      return readForwards(this.connection.reads, stream, slice, deadline);
    }
    this.conflicts.wasRead(stream, last);
    return events;
  }

  private async lastRevisionOf(stream: string, deadline: Deadline): Promise<number | null> {
    const conflict = this.conflicts.of(stream);
    if (conflict !== null) await untilReadable(this.connection, stream, conflict, deadline);
    const newest = await readNewest(this.connection.reads, stream, deadline);
    if (newest === "allTruncated") return probeRevision(this.connection, stream, deadline);
    return newest?.revision ?? null;
  }

  private async call<Result>(
    options: CallOptions | undefined,
    work: (deadline: Deadline) => Promise<Result>,
  ): Promise<Result> {
    this.requireOpen();
    const result = work(deadlineIn(options?.timeoutMs ?? this.options.timeoutMs));
    const flight = this.inFlight.add(result);
    try {
      return await result;
    } finally {
      this.inFlight.delete(flight);
    }
  }

  private requireOpen(): void {
    if (this.closing.signal.aborted) throw new StoreError("unavailable", "the store is closed");
  }
}
