import type { HashedEvent } from "../kernel/event/eventHash.ts";
import type { JsonObject } from "../kernel/text/json.ts";

/** A uuid, in lower case. */
export type EventId = string;

/**
 * A position in the log as a whole. Opaque; it serialises as it is, and positions of one log order as strings:
 * `a < b` exactly when `a` was written before `b`.
 */
export type Position = string & { readonly position: unique symbol };

/** Before the first event of every log. */
export const LOG_START = "" as Position;

/** An event that is about to be appended. `id` is fresh for each request: stores compare ids, never data. */
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

/** What must hold for an append: the stream was never written, or its last revision is this one. */
export type ExpectedRevision = "noStream" | number;

export type AppendResult =
  | { readonly outcome: "appended"; readonly revision: number; readonly position: Position }
  /** `actual` is the stream's last revision, null when the stream was never written. */
  | { readonly outcome: "wrongExpectedRevision"; readonly actual: number | null };

/** Which events of the whole log a reader wants. Both parts must match; a part that is absent matches all. */
export interface LogFilter {
  readonly types?: readonly string[];
  readonly streamPrefixes?: readonly string[];
}

/** Some events of the log in order, and how far the reader has come with them. */
export interface LogBatch {
  readonly events: readonly RecordedEvent[];
  /** Everything up to here that matches is in this batch or was in an earlier one. Never moves back. */
  readonly position: Position;
  /** True when the reader was at the head of the log after this batch. */
  readonly caughtUp: boolean;
}

export interface CallOptions {
  /** The call settles within this time + 1 s, whatever the store does. Default: the store's own setting. */
  readonly timeoutMs?: number;
}

/** One append may carry at most this many bytes of data and metadata, all its events together. */
export const APPEND_BYTES_MAX = 1_000_000;

/** Why a store could not do what it was asked. */
export type StoreFailure =
  /** Nothing was written: the store is away, busy past the deadline, or out of room. */
  | "unavailable"
  /** The append may or may not be in the log. The caller must not act as if either were known. */
  | "outcomeUnknown"
  /** The append is over {@link APPEND_BYTES_MAX}. */
  | "tooLarge";

/** Broken infrastructure, never a lost race: those are values. */
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

/** Throws whatever is no {@link StoreError}: for work that is done again later where the store cannot be had. */
export function requireStoreError(error: unknown): void {
  if (!(error instanceof StoreError)) throw error;
}

/** What the store keeps the log in is damaged: another try would not help. The message says what and where. */
export class DamagedLogError extends StoreError {
  constructor(message: string, options?: ErrorOptions) {
    super("unavailable", message, options);
  }
}

/** A stream whose first events are read no longer. */
export interface Truncation {
  readonly stream: string;
  /** The first revision that is read; Infinity when nothing is. */
  readonly before: number;
}

/** Something wrong with how a store keeps the log, which a reader of the log would not see. */
export interface StoreFault {
  /** Hidden: it is there, and some of those who read the log do not see it. */
  readonly kind: "changed" | "removed" | "inserted" | "hidden";
  /** Where the event is; both null when it is not one event that is wrong. */
  readonly stream: string | null;
  readonly revision: number | null;
  /** What is wrong, when it is not one event: `trigger spy`, `position 17`, `stream email-…`. */
  readonly object: string | null;
  readonly detail: string;
}

/** Where a fault is, as people name it. */
export function locationOfFault({ stream, revision, object }: Omit<StoreFault, "kind" | "detail">): string {
  return object ?? `${stream}@${revision}`;
}

/** The result of a purge. */
export interface PurgeReport {
  /** Where truncated events may still be, a sentence each for the operator; empty when nowhere. */
  readonly remains: readonly string[];
}

/** The append-only log. Every adapter passes the one suite in `test/contract/eventStore.ts`. */
export interface EventStore {
  /**
   * Appends all events or none, durably (on disk with fsync, or on a quorum) before it settles.
   * The same append again (same event ids, same expectation) answers as the first did. An outcome that the
   * store leaves unknown is settled by that repetition until the deadline, then thrown as `outcomeUnknown`.
   */
  append(
    stream: string,
    events: readonly NewEvent[],
    expected: ExpectedRevision,
    options?: CallOptions,
  ): Promise<AppendResult>;
  /**
   * At most `max` events of `stream` with `revision >= from`, in order; truncated ones are left out.
   * Whoever got `wrongExpectedRevision` before this call reads at least that revision.
   */
  read(stream: string, from: number, max: number, options?: CallOptions): Promise<readonly RecordedEvent[]>;
  /**
   * Settles once everything that this handle could read before the call is durable. Who answers or acts by what it has
   * read, and appends nothing, waits for this: a read may show what is not on disk yet. Throws `StoreError`.
   */
  flush(options?: CallOptions): Promise<void>;
  /** The stream's last revision, truncated or not; null when it was never written. */
  lastRevision(stream: string, options?: CallOptions): Promise<number | null>;
  /** The log from after `from` to where its head was, all of it durable, in batches of bounded size. */
  readAll(from: Position, filter: LogFilter, options?: CallOptions): AsyncIterable<LogBatch>;
  /**
   * The log from after `from`, without end: yields batches, also empty ones when only the position moved or
   * the head was reached. Outlives the store's restarts by itself: no gap, and no event at or before the
   * position of a batch it has yielded. Ends when `signal` aborts.
   */
  subscribe(from: Position, filter: LogFilter, signal: AbortSignal): AsyncIterable<LogBatch>;
  /** The position of the last event of the log; {@link LOG_START} when it is empty. */
  head(options?: CallOptions): Promise<Position>;
  /** Events of `stream` below `revision` are no longer read; revisions and `noStream` answers stay as they are. */
  truncateBefore(stream: string, revision: number, options?: CallOptions): Promise<void>;
  /** Every truncated stream at least once, its last mention as it is now, in pages of bounded size. */
  truncations(options?: CallOptions): AsyncIterable<readonly Truncation[]>;
  /**
   * What is wrong with how the store keeps the log; a bounded number of each kind. `quick` looks at what costs no
   * reading of the log, before every seal; `whole` looks at all of it and may take minutes.
   */
  faults(depth: "quick" | "whole", options?: CallOptions): Promise<readonly StoreFault[]>;
  /**
   * Makes what was truncated before this call unreadable on the store's own disks, as far as it can within the
   * time, and says what remains. May take minutes: without `timeoutMs` the store has a bound of its own. Repeatable,
   * by several callers at once too.
   */
  purge(options?: CallOptions): Promise<PurgeReport>;
  /** Closes files and connections. Calls under way settle first or fail as `unavailable`. */
  close(): Promise<void>;
}
