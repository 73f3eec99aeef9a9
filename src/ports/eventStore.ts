import type { HashedEvent } from "../kernel/event/eventHash.ts";
import type { JsonObject } from "../kernel/text/json.ts";

/** A uuid, in lower case. */
export type EventId = string;

/**
 * A position in the whole log. Opaque. It can be stored as it is, and positions of one log compare as strings:
 * `a < b` exactly when `a` was written before `b`.
 */
export type Position = string & { readonly position: unique symbol };

/** Before the first event of every log. */
export const LOG_START = "" as Position;

/** An event to append. `id` is fresh for each request, because stores compare ids and never data. */
export interface NewEvent {
  readonly id: EventId;
  readonly type: string;
  /** A JSON object, or bytes. Must be serialisable: no BigInt, no cycles. */
  readonly data: object | Uint8Array;
  readonly metadata: JsonObject;
}

/** An event as the log holds it. */
export interface RecordedEvent extends HashedEvent {
  readonly id: EventId;
  readonly position: Position;
}

/** The condition of an append: the stream was never written, or this is its last revision. */
export type ExpectedRevision = "noStream" | number;

export type AppendResult =
  | { readonly outcome: "appended"; readonly revision: number; readonly position: Position }
  /** `actual` is the stream's last revision, null when the stream was never written. */
  | { readonly outcome: "wrongExpectedRevision"; readonly actual: number | null };

/** Which events of the whole log a reader wants. Both parts must match; an absent part matches everything. */
export interface LogFilter {
  readonly types?: readonly string[];
  readonly streamPrefixes?: readonly string[];
}

/** Some events of the log in order, and how far the reader has come. */
export interface LogBatch {
  readonly events: readonly RecordedEvent[];
  /** Every matching event up to here is in this batch or an earlier one. Never moves back. */
  readonly position: Position;
  /** True when this batch brought the reader to the head of the log. */
  readonly caughtUp: boolean;
}

export interface CallOptions {
  /** The call settles within this time + 1 s, whatever the store does. The default is the store's own setting. */
  readonly timeoutMs?: number;
}

/** The most bytes of data and metadata in one append, over all its events. */
export const APPEND_BYTES_MAX = 1_000_000;

export type StoreFailure =
  /** Nothing was written: the store is unreachable, busy past the deadline, or out of room. */
  | "unavailable"
  /** The append may or may not be in the log. The caller must assume neither. */
  | "outcomeUnknown"
  /** The append is over {@link APPEND_BYTES_MAX}. */
  | "tooLarge";

/** Broken infrastructure. A lost race is never thrown; it is a value. */
export class StoreError extends Error {
  override readonly name = "StoreError";
  constructor(
    readonly failure: StoreFailure,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** Rethrows anything but a {@link StoreError}: for work that is repeated later when the store is unavailable. */
export function requireStoreError(error: unknown): void {
  if (!(error instanceof StoreError)) throw error;
}

/** The store's files are damaged, so a retry would not help. The message says what is damaged and where. */
export class DamagedLogError extends StoreError {
  constructor(message: string, options?: ErrorOptions) {
    super("unavailable", message, options);
  }
}

/** A stream whose first events can no longer be read. */
export interface Truncation {
  readonly stream: string;
  /** The first revision that can be read; Infinity when none can. */
  readonly before: number;
}

/** Something wrong in how a store keeps the log, which readers of the log would not notice. */
export interface StoreFault {
  /** Hidden: the event is there, but some readers of the log do not see it. */
  readonly kind: "changed" | "removed" | "inserted" | "hidden";
  /** Where the event is; both null when the fault is not in a single event. */
  readonly stream: string | null;
  readonly revision: number | null;
  /** What is at fault, when it is not a single event: `trigger spy`, `position 17`, `stream email-…`. */
  readonly object: string | null;
  readonly detail: string;
}

/** Where a fault is, for people to read. */
export function locationOfFault({ stream, revision, object }: Omit<StoreFault, "kind" | "detail">): string {
  return object ?? `${stream}@${revision}`;
}

/** The result of a purge. */
export interface PurgeReport {
  /** The places where truncated events may remain, one sentence each for the operator. */
  readonly remains: readonly string[];
}

/** What reading single streams needs of a log. */
export type StreamReader = Pick<EventStore, "read">;

/** What looking through a whole log needs of it. */
export type LogView = Pick<
  EventStore,
  "read" | "readAll" | "head" | "lastRevision" | "truncations" | "faults"
>;

/** The append-only log. Every adapter passes the same suite, `test/contract/eventStore.ts`. */
export interface EventStore {
  /**
   * Appends all events or none, durably (on disk with fsync, or on a quorum) before it settles. Repeating an append
   * (same event ids, same expectation) returns the first result. If the store leaves the outcome unknown, the adapter
   * repeats the append until the deadline, then throws `outcomeUnknown`.
   */
  append(
    stream: string,
    events: readonly NewEvent[],
    expected: ExpectedRevision,
    options?: CallOptions,
  ): Promise<AppendResult>;
  /**
   * At most `max` events of `stream` with `revision >= from`, in order, without truncated ones.
   * A caller that got `wrongExpectedRevision` before this call reads at least that revision.
   */
  read(stream: string, from: number, max: number, options?: CallOptions): Promise<readonly RecordedEvent[]>;
  /**
   * Settles once everything that this handle could read before the call is durable. A read may show events that are not
   * on disk yet, so callers that answer or act on a read without appending wait for this. Throws `StoreError`.
   */
  flush(options?: CallOptions): Promise<void>;
  /** The stream's last revision, truncated or not; null when it was never written. */
  lastRevision(stream: string, options?: CallOptions): Promise<number | null>;
  /** The log from after `from` to its head at the time, all of it durable, in batches of bounded size. */
  readAll(from: Position, filter: LogFilter, options?: CallOptions): AsyncIterable<LogBatch>;
  /**
   * The log from after `from`, without end. Yields an empty batch when only the position moved or the head was
   * reached. Survives restarts of the store: it leaves no gap, and never yields an event at or before the position
   * of an earlier batch. Ends when `signal` aborts.
   */
  subscribe(from: Position, filter: LogFilter, signal: AbortSignal): AsyncIterable<LogBatch>;
  /** The position of the last event of the log; {@link LOG_START} when it is empty. */
  head(options?: CallOptions): Promise<Position>;
  /** Hides the events of `stream` below `revision` from reads. Revisions and `noStream` results stay the same. */
  truncateBefore(stream: string, revision: number, options?: CallOptions): Promise<void>;
  /** Every truncated stream at least once, in pages of bounded size. The last mention of a stream is current. */
  truncations(options?: CallOptions): AsyncIterable<readonly Truncation[]>;
  /**
   * What is wrong in how the store keeps the log; a bounded number of each kind. `quick` runs before every seal and
   * checks only what needs no reading of the log. `whole` checks everything and may take minutes.
   */
  faults(depth: "quick" | "whole", options?: CallOptions): Promise<readonly StoreFault[]>;
  /**
   * Makes events truncated before this call unreadable on the store's own disks, as far as the time allows, and
   * reports what remains. May take minutes; without `timeoutMs` the store's own bound applies. Repeatable, also by
   * several callers at once.
   */
  purge(options?: CallOptions): Promise<PurgeReport>;
  /** Closes files and connections. Calls in flight settle first or fail as `unavailable`. */
  close(): Promise<void>;
}
