import { mkdirSync, statSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import {
  APPEND_BYTES_MAX,
  type AppendResult,
  type CallOptions,
  type EventStore,
  type ExpectedRevision,
  type LogBatch,
  type LogFilter,
  type NewEvent,
  type Position,
  type PurgeReport,
  type RecordedEvent,
  StoreError,
  type StoreFault,
  type Truncation,
} from "../../ports/eventStore.ts";
import type { PreparedEvent } from "./append/appendTransaction.ts";
import { GroupCommit, type LogWriter } from "./append/groupCommit.ts";
import { openLogWriter, type WritingThreads } from "./append/openLogWriter.ts";
import { WriteAheadLog } from "./append/writeAheadLog.ts";
import { blankErasedRows } from "./blankErasedRows.ts";
import { checkpointLog, cutWriteAheadLog } from "./checkpointLog.ts";
import { fullIntegrityCheck } from "./fullIntegrityCheck.ts";
import { positionNumber, positionText } from "./logPosition.ts";
import { LogReader } from "./logReader.ts";
import { damageOf, openLogDatabase } from "./openLogDatabase.ts";
import { areTablesOurs, fileFaultOf, quickIntegrityCheck } from "./quickIntegrityCheck.ts";

export interface SqliteEventStoreOptions {
  /** The log's file; its folder is made when it is missing. */
  readonly path: string;
  /** The bound of a call that names none, in ms. */
  readonly timeoutMs?: number;
  /** Bounds the pages that the connection keeps in memory, in KiB. */
  readonly cacheKib?: number;
  /** Opens also a file that somebody has tampered with: for `faults` to say how. */
  readonly evenIfFaulty?: boolean;
  /** Others than the caller's are for whoever has other work while the disk works. */
  readonly writingThreads?: WritingThreads;
}

const TIMEOUT_MS = 5_000;
/** Enough for whoever goes through the log from one end to the other, and looks at every page once. */
const CACHE_KIB = 4 * 1_024;
/** How often a handle that follows the log moves what was committed into the file: a page that many appends change is moved once. */
const CHECKPOINT_EVERY_MS = 1_000;
/** How often a live subscription looks for the commits of other threads and processes. */
const POLL_MS = 10;
/** How long after the last commit it goes on looking that often. */
const AWAKE_MS = 1_000;
/** How often it looks after that. A service's own threads wake it; other processes cannot. */
const ASLEEP_POLL_MS = 100;
/** Whoever is awake needs no waking. */
const WAKE_EVERY_MS = AWAKE_MS / 2;
/** How long it waits after a locked file or a failed flush: the next try may write all of the write-ahead log anew. */
const LOOK_AGAIN_MS = 100;
/** How long a call leaves a locked file alone before it tries again. */
const BUSY_RETRY_MS = 2;
const SQLITE_BUSY = 5;
/** A checkpoint that cuts the write-ahead log needs a moment without readers of older pages. */
const PURGE_TIMEOUT_MS = 30_000;
const PURGE_RETRY_MS = 20;
const WRITE_AHEAD_LOG_REMAINS = "the write-ahead log of the log's database, which another process keeps open";

/** The embedded log: one SQLite file, shared safely by threads and processes of one machine. */
export function openSqliteEventStore(options: SqliteEventStoreOptions): EventStore {
  const {
    path,
    timeoutMs = TIMEOUT_MS,
    cacheKib = CACHE_KIB,
    evenIfFaulty = false,
    writingThreads = "caller",
  } = options;
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const db = openLogDatabase(path, { cacheKib, evenIfFaulty });
  const writer = openLogWriter(writingThreads, { db, path, cacheKib: CACHE_KIB });
  return new SqliteEventStore({ db, writer, path, timeoutMs, writingThreads });
}

interface StoreParts {
  readonly db: DatabaseSync;
  readonly writer: LogWriter;
  readonly path: string;
  readonly timeoutMs: number;
  readonly writingThreads: WritingThreads;
}

class SqliteEventStore implements EventStore {
  private readonly reader: LogReader;
  private readonly commits: GroupCommit;
  private readonly wakers = new Set<() => void>();
  /** Wakes subscriptions of this process's other threads to the same file. */
  private readonly threads: BroadcastChannel;
  private wokenAt = Number.NEGATIVE_INFINITY;
  private changedAt = Number.NEGATIVE_INFINITY;
  /** `data_version` does not move with a connection's own commits, so those are counted here. */
  private ownCommits = 0;
  private closed = false;
  /** False where a file was opened though somebody else has defined its tables: then nothing of it is read. */
  private readonly areTablesOurs;
  /** Which file lay at the path when it was opened. */
  private readonly file;

  private readonly db: DatabaseSync;
  private readonly writeAheadLog: WriteAheadLog;
  private readonly path: string;
  private readonly timeoutMs: number;
  private readonly writingThreads: WritingThreads;

  constructor({ db, writer, path, timeoutMs, writingThreads }: StoreParts) {
    this.db = db;
    this.writingThreads = writingThreads;
    this.path = path;
    this.writeAheadLog = new WriteAheadLog(path);
    this.timeoutMs = timeoutMs;
    this.file = fileAt(path);
    this.areTablesOurs = areTablesOurs(db);
    this.reader = new LogReader(db);
    this.commits = new GroupCommit(writer, () => {
      this.ownCommits += 1;
      this.wake();
      this.wakeThreads();
    });
    this.threads = new BroadcastChannel(`commits to the log in ${this.file}`);
    this.threads.onmessage = () => this.wake();
    this.threads.unref();
  }

  append(
    stream: string,
    events: readonly NewEvent[],
    expected: ExpectedRevision,
    options?: CallOptions,
  ): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      const prepared = events.map(prepare);
      const bytes = prepared.reduce((sum, event) => sum + event.bytes, 0);
      if (bytes > APPEND_BYTES_MAX) {
        throw new StoreError(
          "tooLarge",
          `an append of ${bytes} bytes is over the limit of ${APPEND_BYTES_MAX}`,
        );
      }
      const deadline = performance.now() + (options?.timeoutMs ?? this.timeoutMs);
      this.commits.add({
        stream,
        events: prepared,
        expected,
        bytes,
        deadline,
        resolve,
        reject,
        uncertain: false,
      });
    });
  }

  read(stream: string, from: number, max: number, options?: CallOptions): Promise<readonly RecordedEvent[]> {
    return this.whenFree(() => this.reader.stream(stream, from, max), options);
  }

  /** A transaction of no events waits its turn, and for the disk, as every other. */
  async flush(options?: CallOptions): Promise<void> {
    try {
      await this.append("", [], "noStream", options);
    } catch (cause) {
      // Nothing of its own is unknown.
      throw new StoreError("unavailable", `the log could not be flushed: ${(cause as Error).message}`, {
        cause,
      });
    }
  }

  lastRevision(stream: string, options?: CallOptions): Promise<number | null> {
    return this.whenFree(() => this.reader.lastRevision(stream), options);
  }

  async head(options?: CallOptions): Promise<Position> {
    return positionText(await this.whenFree(() => this.reader.head(), options));
  }

  async *readAll(from: Position, filter: LogFilter, options?: CallOptions): AsyncIterable<LogBatch> {
    const until = await this.whenFree(() => this.reader.head(), options);
    // What comes up to `from` was on disk when somebody read it.
    if (until > positionNumber(from)) await this.requireDurable(options);
    let position = from;
    for (;;) {
      const batch = await this.whenFree(() => this.reader.batch(position, filter, until), options);
      yield batch;
      if (batch.caughtUp) return;
      position = batch.position;
    }
  }

  async *subscribe(from: Position, filter: LogFilter, signal: AbortSignal): AsyncIterable<LogBatch> {
    let position = from;
    let announced = false;
    let checkpointedAt = performance.now();
    while (!signal.aborted && !this.closed) {
      // Read before the batch: whatever is committed after it makes the wait below end at once.
      const seen = this.commitMark();
      const batch = this.nextBatch(position, filter);
      if (batch && (batch.events.length > 0 || batch.position > position || !announced)) {
        position = batch.position;
        announced = batch.caughtUp;
        yield batch;
      }
      if (performance.now() - checkpointedAt >= CHECKPOINT_EVERY_MS) {
        checkpointedAt = performance.now();
        this.checkpoint();
      }
      // What could not be read, or is not on disk yet, is there though nobody commits any more.
      if (!batch) await Bun.sleep(LOOK_AGAIN_MS);
      else if (batch.caughtUp) await this.change(seen, signal);
    }
  }

  async truncateBefore(stream: string, revision: number, options?: CallOptions): Promise<void> {
    await this.whenFree(() => blankErasedRows(this.db, stream, revision), options);
  }

  async purge(options?: CallOptions): Promise<PurgeReport> {
    const deadline = performance.now() + (options?.timeoutMs ?? PURGE_TIMEOUT_MS);
    // The log's own file holds nothing of a truncated event by now; older pages may still be in its write-ahead log.
    while (!(await this.whenFree(() => cutWriteAheadLog(this.db), options))) {
      if (performance.now() >= deadline) return { remains: [WRITE_AHEAD_LOG_REMAINS] };
      await Bun.sleep(PURGE_RETRY_MS);
    }
    return { remains: [] };
  }

  async faults(depth: "quick" | "whole", options?: CallOptions): Promise<readonly StoreFault[]> {
    const look = depth === "quick" ? quickIntegrityCheck : fullIntegrityCheck;
    const faults = await this.whenUnlocked(() => inOneTransaction(this.db, look), options);
    return fileAt(this.path) === this.file ? faults : [SWAPPED, ...faults];
  }

  async *truncations(options?: CallOptions): AsyncIterable<readonly Truncation[]> {
    for (let id: number | null = 0; id !== null; ) {
      const after: number = id;
      const { page, next } = await this.whenFree(() => this.reader.truncations(after), options);
      yield page;
      id = next;
    }
  }

  async close(): Promise<void> {
    if (this.closed) return;
    this.closed = true;
    await this.commits.close();
    this.wake();
    this.threads.close();
    this.writeAheadLog.close();
    this.db.close();
  }

  /** What a reader of the log keeps of it, rows and checkpoints, must not outlive it. Throws `StoreError`. */
  private async requireDurable(options?: CallOptions): Promise<void> {
    if (this.writingThreads !== "caller") await this.flush(options);
    else if (!this.writeAheadLog.makeDurable())
      throw new StoreError("unavailable", "the write-ahead log cannot be flushed to the disk");
  }

  /** {@link whenUnlocked}, for what reads or writes the tables. */
  private async whenFree<Result>(work: () => Result, options?: CallOptions): Promise<Result> {
    if (!this.areTablesOurs)
      throw new StoreError("unavailable", "its tables are not defined as Postledger defines them");
    return this.whenUnlocked(work, options);
  }

  /** Runs `work` as soon as no other process holds the file: waits without blocking the event loop. */
  private async whenUnlocked<Result>(work: () => Result, options?: CallOptions): Promise<Result> {
    const deadline = performance.now() + (options?.timeoutMs ?? this.timeoutMs);
    for (;;) {
      if (this.closed) throw new StoreError("unavailable", "the log is closed");
      try {
        return work();
      } catch (error) {
        if (!isBusy(error)) throw this.failureOf(error);
        if (performance.now() >= deadline)
          throw new StoreError("unavailable", "the log is busy", { cause: error });
      }
      await Bun.sleep(BUSY_RETRY_MS);
    }
  }

  /** The port's error for what SQLite says, unless that is about a lock. */
  private failureOf(error: unknown): StoreError {
    const cause = { cause: error };
    return (
      damageOf(error, this.path) ??
      new StoreError("unavailable", `the log cannot be used: ${(error as Error).message}`, cause)
    );
  }

  private checkpoint(): void {
    try {
      checkpointLog(this.db, this.path);
    } catch (error) {
      if (!isBusy(error)) throw this.failureOf(error);
    }
  }

  /**
   * The next batch for a subscription, on disk: what is built of it must not outlive it. Null while the file is locked or
   * the disk is failing, which the next look will settle.
   */
  private nextBatch(position: Position, filter: LogFilter): LogBatch | null {
    try {
      const batch = this.reader.batch(position, filter, this.reader.head());
      return batch.position === position || this.writeAheadLog.makeDurable() ? batch : null;
    } catch (error) {
      if (isBusy(error)) return null;
      throw this.failureOf(error);
    }
  }

  /** Changes whenever anybody has committed. */
  private commitMark(): string {
    return `${this.ownCommits} ${this.reader.dataVersion()}`;
  }

  /** Waits until something was committed since `seen`, here or elsewhere, or `signal` aborts. */
  private change(seen: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const isOver = () => this.closed || signal.aborted || this.commitMark() !== seen;
      const done = () => {
        clearTimeout(timer);
        this.wakers.delete(done);
        signal.removeEventListener("abort", done);
        this.changedAt = performance.now();
        resolve();
      };
      let timer: Timer;
      const lookAgain = () => {
        const isAwake = performance.now() - this.changedAt < AWAKE_MS;
        timer = setTimeout(() => (isOver() ? done() : lookAgain()), isAwake ? POLL_MS : ASLEEP_POLL_MS);
      };
      lookAgain();
      this.wakers.add(done);
      signal.addEventListener("abort", done);
      if (isOver()) done();
    });
  }

  private wakeThreads(): void {
    const now = performance.now();
    if (now - this.wokenAt < WAKE_EVERY_MS) return;
    this.wokenAt = now;
    this.threads.postMessage(null);
  }

  private wake(): void {
    for (const waker of [...this.wakers]) waker();
  }
}

/** What is appended goes to a file that nobody will open again. */
const SWAPPED = fileFaultOf("changed", "file", "another one lies at its path than the one that is open");

/** Names the file that lies at a path; null when there is none. */
function fileAt(path: string): string | null {
  const found = statSync(path, { throwIfNoEntry: false, bigint: true });
  return found === undefined ? null : `${found.dev} ${found.ino}`;
}

function prepare(event: NewEvent): PreparedEvent & { bytes: number } {
  const metadata = JSON.stringify(event.metadata);
  const data = event.data instanceof Uint8Array ? event.data : JSON.stringify(event.data);
  const dataBytes = typeof data === "string" ? Buffer.byteLength(data) : data.byteLength;
  const bytes = dataBytes + Buffer.byteLength(metadata);
  return { id: event.id, type: event.type, metadata, data, bytes };
}

/** What `look` sees in one snapshot, whatever others commit meanwhile. */
function inOneTransaction<Result>(db: DatabaseSync, look: (db: DatabaseSync) => Result): Result {
  db.exec("BEGIN");
  try {
    return look(db);
  } finally {
    db.exec("COMMIT");
  }
}

function isBusy(error: unknown): boolean {
  const code = (error as { errcode?: number }).errcode;
  return code !== undefined && (code & 0xff) === SQLITE_BUSY;
}
