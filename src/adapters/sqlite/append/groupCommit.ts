import { type AppendResult, StoreError } from "../../../ports/eventStore.ts";
import { OUTCOME_UNKNOWN, type PreparedAppend, type TransactionOutcome } from "./appendTransaction.ts";

/** One append waiting for its transaction. `deadline` is in ms on the monotonic clock. */
interface WaitingAppend extends PreparedAppend {
  readonly bytes: number;
  readonly deadline: number;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: StoreError) => void;
  /** Set when a COMMIT of this append failed: it may still be in the log. */
  uncertain: boolean;
}

/** Writes transactions to the log, one at a time, on this thread or its own. */
export interface LogWriter {
  commit(batch: readonly PreparedAppend[]): Promise<TransactionOutcome>;
  close(): Promise<void>;
}

/** The most appends and bytes in one transaction, which keeps it far below 50 ms. */
const TRANSACTION_APPENDS_MAX = 256;
const TRANSACTION_BYTES_MAX = 8_000_000;
/** How many appends may wait. Beyond that the store rejects appends, because it cannot keep up. */
const WAITING_APPENDS_MAX = 20_000;
/** How long to wait before a retry when another process has the file locked or the disk failed. */
const RETRY_MS = 2;
/** How often to look for appends past their deadline while the disk does not respond. */
const LATE_CHECK_MS = 100;

/**
 * Group commit: all appends that arrive in one turn of the event loop, or while another transaction is written, share
 * one transaction and one fsync. All of them settle only after its COMMIT, losers too, because a loser may have lost
 * to an append of the same transaction.
 */
export class GroupCommit {
  private waiting: WaitingAppend[] = [];
  private scheduled = false;
  private closed = false;
  /** The transaction in flight. */
  private writing: Promise<boolean> | null = null;
  /** How many appends at the front of `waiting` are in it. */
  private inFlight = 0;
  /** Why the last transaction failed; null if it did not. */
  private lastFault: string | null = null;

  constructor(
    private readonly writer: LogWriter,
    private readonly onCommit: () => void,
    private readonly onDamage: (reason: string) => void,
  ) {}

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

  /** Refuses new appends and commits the waiting ones, until a transaction fails. */
  async close(): Promise<void> {
    this.closed = true;
    await this.writing;
    while (this.waiting.length > 0) if (!(await this.commitNext())) break;
    for (const append of this.waiting.splice(0)) append.reject(failure(append, "the log is closing"));
    await this.writer.close();
  }

  private schedule(delayMs: number): void {
    if (this.scheduled) return;
    this.scheduled = true;
    if (delayMs === 0) setImmediate(() => void this.flush());
    else setTimeout(() => void this.flush(), delayMs);
  }

  /** Writes one transaction. Appends that arrive meanwhile go into the next one, scheduled when this one ends. */
  private async flush(): Promise<void> {
    if (this.closed || this.waiting.length === 0) {
      this.scheduled = false;
      return;
    }
    const timer = setInterval(() => this.rejectLate(), LATE_CHECK_MS);
    this.writing = this.commitNext();
    const committed = await this.writing;
    this.writing = null;
    clearInterval(timer);
    this.scheduled = false;
    if (this.closed) return;
    if (!committed) this.rejectLate();
    if (this.waiting.length > 0) this.schedule(committed ? 0 : RETRY_MS);
  }

  /** Rejects appends past their deadline. Those in flight stay in the queue, because they may still be in the log. */
  private rejectLate(): void {
    const now = performance.now();
    const isLate = ({ deadline }: WaitingAppend) => deadline <= now;
    if (!this.waiting.some(isLate)) return;
    const written = this.waiting.slice(0, this.inFlight);
    const rest = this.waiting.slice(this.inFlight);
    for (const append of written.filter(isLate))
      append.reject(new StoreError("outcomeUnknown", "the log was written past the deadline"));
    const fault = this.lastFault === null ? "busy" : `failing (${this.lastFault})`;
    for (const append of rest.filter(isLate))
      append.reject(failure(append, `the log was ${fault} past the deadline`));
    this.waiting = [...written, ...rest.filter((append) => !isLate(append))];
  }

  /** Commits one transaction. False if the file was locked or failing; then its appends keep waiting. */
  private async commitNext(): Promise<boolean> {
    const batch = this.nextBatch();
    this.inFlight = batch.length;
    // Even if the writer throws, the next transaction is tried.
    const outcome = await this.writer.commit(batch).catch(() => OUTCOME_UNKNOWN);
    this.inFlight = 0;
    this.lastFault = outcome.kind === "failed" ? outcome.reason : null;
    if (outcome.kind === "failed") {
      if (outcome.isDamage) this.onDamage(outcome.reason);
      if (outcome.isUncertain) for (const append of batch) append.uncertain = true;
      return false;
    }
    this.waiting.splice(0, batch.length);
    batch.forEach((append, index) => {
      append.resolve(outcome.results[index] as AppendResult);
    });
    if (outcome.hasWritten) this.onCommit();
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
}

function failure(append: WaitingAppend, reason: string): StoreError {
  return new StoreError(append.uncertain ? "outcomeUnknown" : "unavailable", reason);
}
