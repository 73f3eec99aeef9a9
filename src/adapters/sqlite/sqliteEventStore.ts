import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { FOLDER_MODE } from "../../kernel/fileModes.ts";
import {
  APPEND_BYTES_MAX,
  type AppendResult,
  type CallOptions,
  type DamagedLogError,
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
import { WriteAheadLogFlush } from "./append/writeAheadLogFlush.ts";
import { blankTruncatedRows } from "./blankTruncatedRows.ts";
import { checkpointWriteAheadLog, emptyWriteAheadLog } from "./checkpointWriteAheadLog.ts";
import { fullIntegrityCheck } from "./fullIntegrityCheck.ts";
import { positionNumber, positionText } from "./logPosition.ts";
import { LogReader } from "./logReader.ts";
import { damagedLog, damageOf, openLogDatabase } from "./openLogDatabase.ts";
import { areTablesOurs, fileFaultOf, quickIntegrityCheck } from "./quickIntegrityCheck.ts";
import { ReplacedLogFiles } from "./replacedLogFiles.ts";
import { isBusy } from "./resultCode.ts";

export interface SqliteEventStoreOptions {
  /** The log's file; its folder is created if missing. */
  readonly path: string;
  /** The time limit of calls that name none, in ms. */
  readonly timeoutMs?: number;
  /** How many KiB of pages the connection keeps in memory. */
  readonly cacheKib?: number;
  /** Opens even a file that somebody has tampered with, so that `faults` can report how. */
  readonly evenIfFaulty?: boolean;
  /** Values other than `caller` are for processes that have other work while the disk works. */
  readonly writingThreads?: WritingThreads;
  /** Called each time SQLite says that the open file is damaged, whichever call was told so. */
  readonly onDamage?: (error: DamagedLogError) => void;
}

const TIMEOUT_MS = 5_000;
/** Enough to read the log from end to end, which reads every page once. */
const CACHE_KIB = 4 * 1_024;
/** How often a subscription checkpoints the log. A page that many appends have changed by then is copied once. */
const CHECKPOINT_EVERY_MS = 1_000;
/** How often a live subscription looks for the commits of other threads and processes. */
const POLL_MS = 10;
/** How long after the last commit it keeps looking that often. */
const AWAKE_MS = 1_000;
/** How often it looks after that. Threads of the same process wake it; other processes cannot. */
const ASLEEP_POLL_MS = 100;
/** The shortest time between two wake-ups of other threads, because an awake one needs none. */
const WAKE_EVERY_MS = AWAKE_MS / 2;
/** How long it waits after a locked file or a failed flush. The next try may rewrite the whole write-ahead log. */
const LOOK_AGAIN_MS = 100;
/** How long a call waits before it retries a locked file. */
const BUSY_RETRY_MS = 2;
/** How long to retry truncating the write-ahead log, which needs a moment without readers of older pages. */
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
    onDamage = () => {},
  } = options;
  mkdirSync(dirname(path), { recursive: true, mode: FOLDER_MODE });
  const db = openLogDatabase(path, { cacheKib, evenIfFaulty });
  const writer = openLogWriter(writingThreads, { db, path, cacheKib: CACHE_KIB });
  return new SqliteEventStore(db, writer, { path, timeoutMs, writingThreads, onDamage });
}

class SqliteEventStore implements EventStore {
  private readonly reader: LogReader;
  private readonly commits: GroupCommit;
  private readonly wakers = new Set<() => void>();
  /** Wakes subscriptions to the same file in other threads of this process. */
  private readonly threads: BroadcastChannel;
  private wokenAt = Number.NEGATIVE_INFINITY;
  private changedAt = Number.NEGATIVE_INFINITY;
  /** `data_version` does not change with a connection's own commits, so we count those here. */
  private ownCommits = 0;
  private closed = false;
  /** False if the file was opened although its tables are not ours; then nothing is read from them. */
  private readonly areTablesOurs;
  private readonly files: ReplacedLogFiles;

  private readonly writeAheadLog: WriteAheadLogFlush;

  constructor(
    private readonly db: DatabaseSync,
    writer: LogWriter,
    private readonly options: Required<
      Pick<SqliteEventStoreOptions, "path" | "timeoutMs" | "writingThreads" | "onDamage">
    >,
  ) {
    this.writeAheadLog = new WriteAheadLogFlush(options.path);
    this.files = new ReplacedLogFiles(options.path);
    this.areTablesOurs = areTablesOurs(db);
    this.reader = new LogReader(db);
    const onCommit = () => {
      this.ownCommits += 1;
      this.wake();
      this.wakeThreads();
    };
    this.commits = new GroupCommit(writer, onCommit, (reason) =>
      options.onDamage(damagedLog(options.path, reason)),
    );
    this.threads = new BroadcastChannel(`commits to the log in ${this.files.logId}`);
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
      this.requireInPlace();
      const prepared = events.map(prepare);
      const bytes = prepared.reduce((sum, event) => sum + event.bytes, 0);
      if (bytes > APPEND_BYTES_MAX) {
        throw new StoreError(
          "tooLarge",
          `an append of ${bytes} bytes is over the limit of ${APPEND_BYTES_MAX}`,
        );
      }
      const deadline = performance.now() + (options?.timeoutMs ?? this.options.timeoutMs);
      const request = { stream, events: prepared, expected, bytes, deadline };
      this.commits.add({ ...request, resolve, reject, uncertain: false });
    });
  }

  read(stream: string, from: number, max: number, options?: CallOptions): Promise<readonly RecordedEvent[]> {
    return this.whenFree(() => this.reader.stream(stream, from, max), options);
  }

  /** Appends nothing: like every append, that waits its turn and then for the disk. */
  async flush(options?: CallOptions): Promise<void> {
    try {
      await this.append("", [], "noStream", options);
    } catch (cause) {
      // It writes nothing, so its outcome is never unknown.
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
    // Events up to `from` were on disk when somebody read them.
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
      if (this.files.recentlyMissing() !== null) {
        // SQLite still has the removed file open: this saves what nobody could read from it later.
        this.checkpoint();
        await Bun.sleep(LOOK_AGAIN_MS);
        continue;
      }
      // Read before the batch, so a commit after the batch ends the wait below at once.
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
      // Do not wait for a commit here: what could not be read, or is not on disk yet, is already in the log.
      if (!batch) await Bun.sleep(LOOK_AGAIN_MS);
      else if (batch.caughtUp) await this.change(seen, signal);
    }
  }

  async truncateBefore(stream: string, revision: number, options?: CallOptions): Promise<void> {
    await this.whenFree(() => blankTruncatedRows(this.db, stream, revision), options);
  }

  async purge(options?: CallOptions): Promise<PurgeReport> {
    const deadline = performance.now() + (options?.timeoutMs ?? PURGE_TIMEOUT_MS);
    // The log's file no longer holds truncated events, but older pages may still be in its write-ahead log.
    while (!(await this.whenFree(() => emptyWriteAheadLog(this.db), options))) {
      if (performance.now() >= deadline) return { remains: [WRITE_AHEAD_LOG_REMAINS] };
      await Bun.sleep(PURGE_RETRY_MS);
    }
    return { remains: [] };
  }

  async faults(depth: "quick" | "whole", options?: CallOptions): Promise<readonly StoreFault[]> {
    // Without its own write-ahead log, SQLite may read any page wrong.
    const missing = this.files.missing();
    if (missing !== null) return [fileFaultOf("changed", "file", notInPlace(missing))];
    const look = depth === "quick" ? quickIntegrityCheck : fullIntegrityCheck;
    return this.whenUnlocked(() => inOneTransaction(this.db, look), options);
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

  /** Flushes what was committed: rows and checkpoints made from events must not outlive them. Throws `StoreError`. */
  private async requireDurable(options?: CallOptions): Promise<void> {
    if (this.options.writingThreads !== "caller") await this.flush(options);
    else if (!this.writeAheadLog.makeDurable())
      throw new StoreError("unavailable", "the write-ahead log cannot be flushed to the disk");
  }

  /** A file that is no longer at its path is gone with the process. Reads fail too, so everybody notices. */
  private requireInPlace(): void {
    const missing = this.files.recentlyMissing();
    if (missing !== null) throw new StoreError("unavailable", notInPlace(missing));
  }

  /** The same as {@link whenUnlocked}, for work that reads or writes the tables. */
  private async whenFree<Result>(work: () => Result, options?: CallOptions): Promise<Result> {
    if (!this.areTablesOurs)
      throw new StoreError("unavailable", "its tables are not defined as Postledger defines them");
    this.requireInPlace();
    return this.whenUnlocked(work, options);
  }

  /** Runs `work` as soon as no other process locks the file. Waits without blocking the event loop. */
  private async whenUnlocked<Result>(work: () => Result, options?: CallOptions): Promise<Result> {
    const deadline = performance.now() + (options?.timeoutMs ?? this.options.timeoutMs);
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

  /** The port's error for an SQLite error that is not about a lock. */
  private failureOf(error: unknown): StoreError {
    const damage = damageOf(error, this.options.path);
    if (damage !== null) this.options.onDamage(damage);
    const message = `the log cannot be used: ${(error as Error).message}`;
    return damage ?? new StoreError("unavailable", message, { cause: error });
  }

  /** Not while another process may use another write-ahead log: pages would go to wrong places of the log's file. */
  private checkpoint(): void {
    if (this.files.isReplaced()) return;
    try {
      checkpointWriteAheadLog(this.db, this.options.path);
    } catch (error) {
      if (!isBusy(error)) throw this.failureOf(error);
    }
  }

  /**
   * The next batch for a subscription, flushed, because what is built from it must not outlive it. Null while the file
   * is locked or the disk is failing; the subscription then tries again.
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

  /** A mark that changes whenever anybody commits. */
  private commitMark(): string {
    return `${this.ownCommits} ${this.reader.dataVersion()}`;
  }

  /** Waits until anybody has committed since the mark `seen`, a file of the log is missing, or `signal` aborts. */
  private change(seen: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const isOver = () =>
        this.closed || signal.aborted || this.files.recentlyMissing() !== null || this.commitMark() !== seen;
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

/** Why nothing more is appended: it would go to a file that nobody opens again. */
function notInPlace(path: string): string {
  return `${path} was removed, or another file put in its place`;
}

function prepare(event: NewEvent): PreparedEvent & { bytes: number } {
  const metadata = JSON.stringify(event.metadata);
  const data = event.data instanceof Uint8Array ? event.data : JSON.stringify(event.data);
  const dataBytes = typeof data === "string" ? Buffer.byteLength(data) : data.byteLength;
  const bytes = dataBytes + Buffer.byteLength(metadata);
  return { id: event.id, type: event.type, metadata, data, bytes };
}

/** Runs `look` on one snapshot, whatever others commit meanwhile. */
function inOneTransaction<Result>(db: DatabaseSync, look: (db: DatabaseSync) => Result): Result {
  db.exec("BEGIN");
  try {
    return look(db);
  } finally {
    db.exec("COMMIT");
  }
}
