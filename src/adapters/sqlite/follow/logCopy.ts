import { existsSync, lstatSync } from "node:fs";
import { DatabaseSync, type StatementSync } from "node:sqlite";
import { pathToFileURL } from "node:url";
import { messageOf } from "../../../kernel/text/errorReason.ts";
import { StoreError } from "../../../ports/eventStore.ts";
import { blankRowsBefore } from "../blankTruncatedRows.ts";
import { LogReader } from "../logReader.ts";
import { requireSound } from "../openLogDatabase.ts";
import { isBusy, isDamage } from "../resultCode.ts";
import { writeTransaction } from "../writeTransaction.ts";
import { type EventRow, inSnapshot, type LogPage, LogRows, type StreamRow } from "./logRows.ts";

/** How long to wait for another process that reads the copy for a moment. */
const BUSY_MS_MAX = 1_000;
/** How many KiB of pages to keep in memory during a round: new streams go to any page of the index of names. */
const CACHE_KIB = 16 * 1_024;
/**
 * Finds an event as the reader of its stream does, so that it reads both indexes, and compares it. Only its place if it
 * is truncated in the source: the copy may not have blanked it yet.
 */
const SAME = `SELECT 1 FROM streams s INDEXED BY sqlite_autoindex_streams_1
  CROSS JOIN events e INDEXED BY events_by_stream ON e.stream = s.id
  WHERE s.name = ?1 AND e.revision = ?2 AND e.position = ?3
    AND (?5 = '' OR (e.id = ?4 AND e.type = ?5 AND e.metadata = ?6 AND e.data = ?7))`;

/**
 * A copy of a log that is kept up to date, open for writing. It needs no shared memory between processes (its rollback
 * journal is deleted at each commit), so it can be on a network volume. A commit is on disk when it returns, erased
 * bytes are overwritten, and a process that dies leaves a journal from which the next opening restores the last commit.
 */
export class LogCopy extends LogRows {
  private readonly statements = new Map<string, StatementSync>();

  /** Throws `StoreError` if there is no copy, or it cannot be used. Never creates one. */
  static open(path: string): LogCopy {
    return onCopy(path, () => {
      const db = new DatabaseSync(existing(path), { timeout: BUSY_MS_MAX });
      try {
        db.exec("PRAGMA trusted_schema = OFF; PRAGMA journal_mode = DELETE");
        db.exec("PRAGMA synchronous = EXTRA; PRAGMA secure_delete = ON");
        db.exec(`PRAGMA cache_size = -${CACHE_KIB}`);
        requireSound(db, path);
        return new LogCopy(path, db);
      } catch (error) {
        db.close();
        throw error;
      }
    });
  }

  /** Adds the events that follow the head, all or none. Throws `StoreError` if they do not follow it. */
  append({ events, streams }: LogPage): void {
    const [begin] = events;
    const end = events.at(-1);
    if (begin === undefined || end === undefined) return;
    this.read(() =>
      writeTransaction(this.db, () => {
        const head = new LogReader(this.db).head();
        if (head !== begin.position - 1)
          throw new StoreError("unavailable", `another process writes to the copy ${this.path}`);
        const lastRevisions = new Map(events.map(({ stream, revision }) => [stream, revision]));
        for (const stream of streams) this.putStream(stream, Number(lastRevisions.get(stream.id)));
        this.insertEvents(events);
        for (const stream of streams) if (stream.truncate_before > 0) this.blankStream(stream);
        this.db.prepare("UPDATE log SET head = ?").run(end.position);
      }),
    );
  }

  /** Blanks what is truncated in these streams of the source. Returns how many streams that changed. */
  blank(streams: readonly StreamRow[]): number {
    return this.read(() => {
      const due = streams.filter((stream) => this.blankBefore(stream) !== null);
      if (due.length === 0) return 0;
      writeTransaction(this.db, () => {
        for (const stream of due) this.blankStream(stream);
      });
      return due.length;
    });
  }

  /** The position of the first event of a page that the copy does not hold as it is there; null if it holds all. */
  firstDifference({ events, streams }: LogPage): number | null {
    const names = new Map(streams.map(({ id, name }) => [id, name]));
    const differs = ({ stream, revision, position, id, type, metadata, data }: EventRow) => {
      const name = names.get(stream) ?? "";
      try {
        const found = this.prepare(SAME).get(name, revision, position, id, type, metadata, data);
        return found === undefined;
      } catch (error) {
        if (isDamage(error)) return true;
        throw error;
      }
    };
    return this.read(() => inSnapshot(this.db, () => events.find(differs)))?.position ?? null;
  }

  /** Does work while nobody else reads or writes the copy. Throws `StoreError` while somebody does. */
  async exclusively(work: () => Promise<void>): Promise<void> {
    this.read(() => this.db.exec("BEGIN EXCLUSIVE"));
    try {
      await work();
    } finally {
      this.db.exec("ROLLBACK");
    }
  }

  protected read<Result>(work: () => Result): Result {
    return onCopy(this.path, work);
  }

  private prepare(sql: string): StatementSync {
    return this.statements.getOrInsertComputed(sql, () => this.db.prepare(sql));
  }

  /** The row of a stream as it is in the copy up to `revision`, which is below that of the source while we catch up. */
  private putStream({ id, name }: StreamRow, revision: number): void {
    const sql = `INSERT INTO streams (revision, id, name) VALUES (?, ?, ?)
      ON CONFLICT (id) DO UPDATE SET revision = excluded.revision WHERE name = excluded.name`;
    if (this.prepare(sql).run(revision, id, name).changes === 1) return;
    throw new StoreError("unavailable", `the copy ${this.path} has another stream in the place of ${name}`);
  }

  private insertEvents(events: readonly EventRow[]): void {
    const statement = this.prepare("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)");
    for (const { position, stream, revision, id, type, metadata, data } of events)
      statement.run(position, stream, revision, id, type, metadata, data);
  }

  private blankStream(stream: StreamRow): void {
    const before = this.blankBefore(stream);
    if (before !== null) blankRowsBefore(this.db, stream.id, before);
  }

  /** The revision up to which the copy has to blank a stream of the source; null if it has. */
  private blankBefore({ id, truncate_before: wanted }: StreamRow): number | null {
    const row = this.prepare("SELECT revision, truncate_before FROM streams WHERE id = ?").get(id);
    if (row === undefined) return null;
    const before = Math.min(wanted, Number(row.revision) + 1);
    return before > Number(row.truncate_before) ? before : null;
  }
}

/** The address of a file that SQLite must not create. Throws `StoreError` if there is none. */
export function existing(path: string): URL {
  if (!existsSync(path))
    throw new StoreError("unavailable", `there is no copy ${path}: is its disk mounted?`);
  for (const file of [path, `${path}-journal`])
    if (lstatSync(file, { throwIfNoEntry: false })?.isFile() === false)
      throw new StoreError("unavailable", `${file} is no regular file`);
  const url = pathToFileURL(path);
  url.search = "?mode=rw";
  return url;
}

/** Runs `work` on a copy, and tells why the copy cannot be used. `inUse`: what to say while another process locks it. */
export function onCopy<Result>(
  path: string,
  work: () => Result,
  inUse = "is in use by another process, such as `backup verify` or `backup restore`",
): Result {
  try {
    return work();
  } catch (error) {
    if (error instanceof StoreError) throw error;
    const why = isBusy(error) ? inUse : `cannot be used: ${messageOf(error)}`;
    throw new StoreError("unavailable", `the copy ${path} ${why}`, { cause: error });
  }
}
