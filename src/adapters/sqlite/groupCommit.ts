import type { DatabaseSync } from "node:sqlite";
import {
  type AppendResult,
  type ExpectedRevision,
  type Position,
  StoreError,
} from "../../ports/eventStore.ts";

/** An event whose data and metadata are already bytes or text: nothing inside a transaction can fail on them. */
export interface PreparedEvent {
  readonly id: string;
  readonly type: string;
  readonly metadata: string;
  readonly data: string | Uint8Array;
}

/** One append as it waits for its transaction. `deadline` is on the monotonic clock, in ms. */
export interface WaitingAppend {
  readonly stream: string;
  readonly events: readonly PreparedEvent[];
  readonly expected: ExpectedRevision;
  readonly bytes: number;
  readonly deadline: number;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: StoreError) => void;
  /** Set when a COMMIT of this append failed: it may be in the log all the same. */
  uncertain: boolean;
}

/** One transaction carries at most this many appends and bytes: it stays far below 50 ms. */
const TRANSACTION_APPENDS_MAX = 256;
const TRANSACTION_BYTES_MAX = 8_000_000;
/** More appends than this do not wait: the store is not keeping up, and says so. */
const WAITING_APPENDS_MAX = 20_000;
/** How long to leave the file to another process, or to a disk that failed, before the next try. */
const RETRY_MS = 2;

/** The sixteen digits of a position: enough for 2^53, and they order as strings. */
export function positionText(position: number): Position {
  return String(position).padStart(16, "0") as Position;
}

function prepareAll(db: DatabaseSync) {
  return {
    head: db.prepare("SELECT head FROM log"),
    setHead: db.prepare("UPDATE log SET head = ?"),
    stream: db.prepare("SELECT id, revision FROM streams WHERE name = ?"),
    newStream: db.prepare("INSERT INTO streams (name, revision) VALUES (?, ?) ON CONFLICT DO NOTHING"),
    setRevision: db.prepare("UPDATE streams SET revision = ? WHERE id = ?"),
    event: db.prepare(
      "INSERT INTO events (position, stream, revision, id, type, metadata, data) VALUES (?, ?, ?, ?, ?, ?, ?)",
    ),
    ids: db.prepare(
      "SELECT revision, position, id FROM events WHERE stream = ? AND revision > ? ORDER BY revision LIMIT ?",
    ),
  };
}

/**
 * Group commit: all appends that wait in one turn of the event loop share one transaction and one fsync.
 * All of them settle only after its COMMIT, losers too, for what a loser saw may be the same transaction's.
 */
export class GroupCommit {
  private waiting: WaitingAppend[] = [];
  private scheduled = false;
  private closed = false;
  private prepared: ReturnType<typeof prepareAll> | null = null;

  constructor(
    private readonly db: DatabaseSync,
    private readonly onCommit: () => void,
  ) {}

  /** Prepared for the first append: a file that is opened only to say what is wrong with it may have no such tables. */
  private get statements() {
    this.prepared ??= prepareAll(this.db);
    return this.prepared;
  }

  add(append: WaitingAppend): void {
    if (this.closed) {
      append.reject(new StoreError("unavailable", "the log is closed"));
    } else if (this.waiting.length >= WAITING_APPENDS_MAX) {
      append.reject(new StoreError("unavailable", `${WAITING_APPENDS_MAX} appends are waiting already`));
    } else {
      this.waiting.push(append);
      this.schedule(0);
    }
  }

  /** Commits what waits, as far as the file lets us, and refuses what comes after. */
  close(): void {
    this.closed = true;
    while (this.waiting.length > 0) if (!this.commitNext()) break;
    for (const append of this.waiting.splice(0)) append.reject(failure(append, "the log is closing"));
  }

  private schedule(delayMs: number): void {
    if (this.scheduled) return;
    this.scheduled = true;
    const flush = () => {
      this.scheduled = false;
      this.flush();
    };
    if (delayMs === 0) setImmediate(flush);
    else setTimeout(flush, delayMs);
  }

  private flush(): void {
    if (this.closed || this.waiting.length === 0) return;
    const committed = this.commitNext();
    if (!committed) this.rejectLate();
    if (this.waiting.length > 0) this.schedule(committed ? 0 : RETRY_MS);
  }

  private rejectLate(): void {
    const now = performance.now();
    const late = this.waiting.filter((append) => append.deadline <= now);
    if (late.length === 0) return;
    this.waiting = this.waiting.filter((append) => append.deadline > now);
    for (const append of late)
      append.reject(failure(append, "the log was busy or failing past the deadline"));
  }

  /** One transaction. False when the file was locked or failing: everything waits as it did. */
  private commitNext(): boolean {
    const batch = this.nextBatch();
    let committing = false;
    let results: AppendResult[];
    try {
      this.db.exec("BEGIN IMMEDIATE");
      results = this.appendAll(batch);
      committing = true;
      this.db.exec("COMMIT");
    } catch {
      this.rollback();
      if (committing) for (const append of batch) append.uncertain = true;
      return false;
    }
    this.waiting.splice(0, batch.length);
    batch.forEach((append, index) => {
      append.resolve(results[index] as AppendResult);
    });
    this.onCommit();
    return true;
  }

  private nextBatch(): readonly WaitingAppend[] {
    let bytes = 0;
    let count = 0;
    for (const append of this.waiting) {
      bytes += append.bytes;
      if (count > 0 && (count >= TRANSACTION_APPENDS_MAX || bytes > TRANSACTION_BYTES_MAX)) break;
      count += 1;
    }
    return this.waiting.slice(0, count);
  }

  private rollback(): void {
    try {
      this.db.exec("ROLLBACK");
    } catch {
      // SQLite has rolled back by itself, or BEGIN never succeeded: there is nothing left to undo.
    }
  }

  private appendAll(batch: readonly WaitingAppend[]): AppendResult[] {
    const before = Number(this.statements.head.get()?.head);
    let head = before;
    const results = batch.map((append) => {
      const result = this.appendOne(append, head);
      if (result.fresh) head += append.events.length;
      return result.result;
    });
    if (head > before) this.statements.setHead.run(head);
    return results;
  }

  private appendOne(append: WaitingAppend, head: number): { fresh: boolean; result: AppendResult } {
    const { events, expected } = append;
    const first = expected === "noStream" ? 0 : expected + 1;
    const last = first + events.length - 1;
    const streamId = this.claimRevisions(append, last);
    if (streamId === null) return { fresh: false, result: this.repeatOrLoss(append, first) };
    events.forEach((event, index) => {
      const { id, type, metadata, data } = event;
      this.statements.event.run(head + index + 1, streamId, first + index, id, type, metadata, data);
    });
    const position = positionText(head + events.length);
    return { fresh: true, result: { outcome: "appended", revision: last, position } };
  }

  /** The stream's row id when the expectation holds, with its revision already moved; null when it does not. */
  private claimRevisions(append: WaitingAppend, last: number): number | bigint | null {
    if (append.expected === "noStream") {
      const inserted = this.statements.newStream.run(append.stream, last);
      return inserted.changes === 1 ? inserted.lastInsertRowid : null;
    }
    const row = this.statements.stream.get(append.stream);
    if (row?.revision !== append.expected) return null;
    this.statements.setRevision.run(last, Number(row.id));
    return Number(row.id);
  }

  /** The same append again is answered as it was the first time; anything else has lost. */
  private repeatOrLoss(append: WaitingAppend, first: number): AppendResult {
    const row = this.statements.stream.get(append.stream);
    if (!row) return { outcome: "wrongExpectedRevision", actual: null };
    const { events } = append;
    const stored = this.statements.ids.all(Number(row.id), first - 1, events.length);
    const repeated =
      stored.length === events.length && stored.every((event, index) => event.id === events[index]?.id);
    const last = stored.at(-1);
    if (repeated && last) {
      const position = positionText(Number(last.position));
      return { outcome: "appended", revision: Number(last.revision), position };
    }
    return { outcome: "wrongExpectedRevision", actual: Number(row.revision) };
  }
}

function failure(append: WaitingAppend, reason: string): StoreError {
  return new StoreError(append.uncertain ? "outcomeUnknown" : "unavailable", reason);
}
