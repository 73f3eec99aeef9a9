import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { POSTLEDGER } from "../../../kernel/text/cliInvocation.ts";
import { messageOf } from "../../../kernel/text/errorReason.ts";
import { APPEND_BYTES_MAX, StoreError } from "../../../ports/eventStore.ts";
import { WriteAheadLogFlush } from "../append/writeAheadLogFlush.ts";
import { LogReader } from "../logReader.ts";
import {
  damageOf,
  requireFileOfWriteAheadLog,
  requireFilesOfOpenLog,
  requireSound,
} from "../openLogDatabase.ts";
import { ReplacedLogFiles } from "../replacedLogFiles.ts";
import { type EventRow, inSnapshot, type LogPage, LogRows, type StreamRow } from "./logRows.ts";

/** A page holds at most this many events, and ends after the one that takes it past this size. */
const PAGE_EVENTS_MAX = 1_000;
const PAGE_BYTES_MAX = 16_000_000;
/** Truncated streams to read at once. */
const PAGE_STREAMS_MAX = 1_000;
/** The file is locked for longer than a moment only while another process recovers it after a crash. */
const BUSY_MS_MAX = 10_000;

const BYTES = "octet_length(metadata) + octet_length(data)";
/** Leaves out data longer than anything that we append, so that we need not hold it in memory. */
const EVENTS = `SELECT position, stream, revision, id, type, metadata,
  CASE WHEN ${BYTES} <= ${APPEND_BYTES_MAX} THEN data END AS data, ${BYTES} AS bytes
  FROM events WHERE position > ? AND position <= ? ORDER BY position LIMIT ${PAGE_EVENTS_MAX}`;
const STREAM = "SELECT id, name, truncate_before FROM streams WHERE id = ?";
const TRUNCATED = `SELECT id, name, truncate_before FROM streams
  WHERE truncate_before > 0 AND id > ? ORDER BY id LIMIT ${PAGE_STREAMS_MAX}`;

/**
 * The embedded log of an installation, open for reading beside the service that writes it. Every call is a short read
 * transaction of its own, so it holds nobody up. To be closed soon: as long as any connection is open, SQLite cannot
 * remove the write-ahead log.
 */
export class SourceLog extends LogRows {
  private readonly files: ReplacedLogFiles;

  private constructor(path: string, db: DatabaseSync) {
    super(path, db);
    this.files = new ReplacedLogFiles(path);
  }

  /** Throws `StoreError` if there is no log, its files are not in their places, or it is not as it was written. */
  static open(path: string): SourceLog {
    if (!existsSync(path)) throw new StoreError("unavailable", `there is no log ${path}`);
    requireFileOfWriteAheadLog(path);
    requireFilesOfOpenLog(path);
    const before = new ReplacedLogFiles(path);
    return reading(path, () => {
      const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS_MAX });
      try {
        db.exec("PRAGMA trusted_schema = OFF");
        inSnapshot(db, () => requireSound(db, path));
        const log = new SourceLog(path, db);
        if (log.files.logId !== before.logId) throw replaced(path);
        return log;
      } catch (error) {
        db.close();
        throw error;
      }
    });
  }

  /** The events after a position. Throws `StoreError` if one is missing or damaged: a copy must not hide that. */
  page(after: number): LogPage {
    return this.read(() => {
      const head = new LogReader(this.db).head();
      const events = this.eventsAfter(after, head);
      const ids = new Set(events.map(({ stream }) => stream));
      const statement = this.db.prepare(STREAM);
      const streams = [...ids].map((id) => {
        const row = statement.get(id);
        if (row === undefined) throw this.altered("an event that belongs to no stream");
        return row as unknown as StreamRow;
      });
      return { events, streams };
    });
  }

  /** A page of truncated streams in order of id, after `id`; none after the last. */
  truncatedStreams(id: number): readonly StreamRow[] {
    return this.read(() => this.db.prepare(TRUNCATED).all(id) as unknown as readonly StreamRow[]);
  }

  /** Throws `StoreError` if one of the log's files was removed or replaced: what was read may then be wrong. */
  requireInPlace(): void {
    const missing = this.files.missing();
    if (missing !== null) throw replaced(missing);
  }

  private eventsAfter(after: number, head: number): readonly EventRow[] {
    const events: EventRow[] = [];
    let bytes = 0;
    for (const row of this.db.prepare(EVENTS).iterate(after, head)) {
      const { bytes: length, ...event } = row as unknown as EventRow & { readonly bytes: number };
      if (event.position !== after + events.length + 1) break;
      if (event.data === null) throw this.altered("an event larger than any append may be");
      events.push(event);
      bytes += length;
      if (bytes >= PAGE_BYTES_MAX) break;
    }
    if (events.length === 0 && head > after) throw this.altered(`no event at position ${after + 1}`);
    return events;
  }

  private altered(what: string): StoreError {
    const remedy = `\`${POSTLEDGER} audit verify\` says more`;
    return new StoreError("unavailable", `${this.path} is not as it was written: it has ${what}; ${remedy}`);
  }

  protected read<Result>(work: () => Result): Result {
    return reading(this.path, () => inSnapshot(this.db, work));
  }
}

/**
 * Waits until everything that a log's readers can see is on disk: a copy must not hold what its log may still lose.
 * `isFlushMissing`: the last flush failed. Throws `StoreError`.
 */
export function flushSource(path: string, isFlushMissing: boolean): void {
  const log = new WriteAheadLogFlush(path, isFlushMissing);
  try {
    if (!log.makeDurable())
      throw new StoreError("unavailable", `the write-ahead log of ${path} cannot be flushed`);
  } finally {
    log.close();
  }
}

function replaced(path: string): StoreError {
  return new StoreError("unavailable", `${path} was removed, or another file put in its place`);
}

function reading<Result>(path: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    throw (
      damageOf(error, path) ??
      new StoreError("unavailable", `the log ${path} cannot be read: ${messageOf(error)}`, { cause: error })
    );
  }
}
