import type { RecordedEvent } from "../../../ports/eventStore.ts";
import type { ReadDatabaseFile } from "../../../ports/readDatabase.ts";
import type { FindingKind, Findings } from "./auditFindings.ts";

/** How far the log has been read in one stream. */
interface Progress {
  next: number;
  /** Revisions below this one may be missing. */
  released: number;
}

/** Revisions of one stream, and what is wrong with them. */
interface Revisions {
  readonly stream: string;
  readonly from: number;
  readonly upto: number;
  readonly why: string;
}

interface StreamEnd {
  readonly stream: string;
  readonly last: number;
}

/** Streams in one page of {@link RevisionGaps.lastSeen}. */
const PAGE_STREAMS = 1_000;
/** How many streams' progress is in memory; the others are on disk. */
const STREAMS_IN_MEMORY_MAX = 20_000;
/** A longer gap is reported as one finding. */
const GAP_REPORTED_MAX = 1_000;

/**
 * Follows the revisions of every stream through the log: they must come in order and without gaps, except for gaps that
 * an event permits. That event may come after the gap.
 */
export class RevisionGaps {
  private readonly recent = new Map<string, Progress>();

  constructor(
    private readonly db: ReadDatabaseFile,
    private readonly findings: Findings,
  ) {
    db.run(`CREATE TABLE streams (name TEXT PRIMARY KEY, next INTEGER NOT NULL, released INTEGER NOT NULL)
      WITHOUT ROWID`);
    db.run("CREATE TABLE ends (stream TEXT PRIMARY KEY, last INTEGER NOT NULL) WITHOUT ROWID");
    db.run(
      "CREATE TABLE truncated (stream TEXT PRIMARY KEY, before INTEGER NOT NULL, highest INTEGER NOT NULL) WITHOUT ROWID",
    );
    db.run(`CREATE TABLE gaps (stream TEXT NOT NULL, first INTEGER NOT NULL, upto INTEGER NOT NULL,
      PRIMARY KEY (stream, first)) WITHOUT ROWID`);
  }

  /** Takes the next event of the log. Returns the first revision missing before it in its stream, or its own. */
  see({ stream, revision }: Pick<RecordedEvent, "stream" | "revision">): number {
    const progress = this.progressOf(stream);
    const { next } = progress;
    if (revision < next) this.seeLate(stream, revision);
    else {
      if (next < revision) this.noteGap(stream, next, revision);
      progress.next = revision + 1;
    }
    return Math.min(next, revision);
  }

  /** Takes an event after the checked part of the log: only records that its stream goes that far. */
  advance({ stream, revision }: Pick<RecordedEvent, "stream" | "revision">): void {
    const progress = this.progressOf(stream);
    progress.next = Math.max(progress.next, revision + 1);
  }

  /** The streams in the log with their last revisions, in pages; without those that are truncated to their end. */
  *lastSeen(): Iterable<readonly StreamEnd[]> {
    this.spill();
    const after = `SELECT name AS stream, next - 1 AS last FROM streams s WHERE name > ? AND next > 0 AND NOT EXISTS
      (SELECT 1 FROM truncated t WHERE t.stream = s.name AND t.before >= s.next) ORDER BY name LIMIT ${PAGE_STREAMS}`;
    for (let last = ""; ; ) {
      const page = this.db.all(after, last) as unknown as readonly StreamEnd[];
      if (page.length > 0) yield page;
      if (page.length < PAGE_STREAMS) return;
      last = page.at(-1)?.stream ?? "";
    }
  }

  /** Compares a stream's end in the log with its last revision by the store; null: the store has no such stream. */
  compareEnd({ stream, last: seen }: StreamEnd, last: number | null): void {
    if (last !== null && last > seen) this.db.run("INSERT OR REPLACE INTO ends VALUES (?, ?)", stream, last);
    const why = "it is in the log, and its stream ends before it";
    this.report("hidden", { stream, from: (last ?? -1) + 1, upto: seen + 1, why });
  }

  /** Takes a placeholder. It is no event, so an event must permit that the revision is missing. */
  seePlaceholder({ stream, revision }: Pick<RecordedEvent, "stream" | "revision">): void {
    this.noteGap(stream, revision, revision + 1);
  }

  /** Revisions of `stream` below `revision` may be missing. */
  release(stream: string, revision: number): void {
    const progress = this.progressOf(stream);
    if (revision <= progress.released) return;
    progress.released = revision;
    this.db.run("DELETE FROM gaps WHERE stream = ? AND upto <= ?", stream, revision);
  }

  /** Revisions of `stream` below this one may be missing. */
  released(stream: string): number {
    return this.progressOf(stream).released;
  }

  /** The store hides the revisions of `stream` below `before`. A later call replaces an earlier one. */
  truncate(stream: string, before: number): void {
    const bound = Math.min(before, Number.MAX_SAFE_INTEGER);
    // No erasure hides a whole stream, so undoing such a truncation is no finding.
    const highest = bound === Number.MAX_SAFE_INTEGER ? 0 : bound;
    this.db.run(
      `INSERT INTO truncated VALUES (?, ?, ?) ON CONFLICT DO UPDATE
        SET before = excluded.before, highest = max(highest, excluded.highest)`,
      ...[stream, bound, highest],
    );
  }

  /** Reports every gap that no event permits, and every event that its stream hides without a reason. */
  finish(): void {
    for (const row of this.db.rows("SELECT * FROM gaps")) {
      const { stream, first, upto } = row as unknown as { stream: string; first: number; upto: number };
      const from = Math.max(first, this.released(stream));
      this.report("removed", { stream, from, upto, why: "it is missing, and no event permits that" });
    }
    for (const row of this.db.rows("SELECT * FROM ends")) {
      const { stream, last } = row as unknown as StreamEnd;
      const why = "its stream says that it was there, and the log does not show it";
      this.report("removed", { stream, from: this.progressOf(stream).next, upto: last + 1, why });
    }
    for (const row of this.db.rows("SELECT * FROM truncated")) {
      const { stream, before, highest } = row as unknown as {
        stream: string;
        before: number;
        highest: number;
      };
      const { next, released: from } = this.progressOf(stream);
      const again = "it was truncated, and its stream may show it again";
      this.report("changed", { stream, from: before, upto: highest, why: again });
      const why = "its stream no longer shows it, and no event permits that";
      this.report("hidden", { stream, from, upto: Math.min(next, before), why });
    }
  }

  private report(kind: FindingKind, { stream, from, upto, why }: Revisions): void {
    const isLong = upto - from > GAP_REPORTED_MAX;
    const detail = isLong ? `${why}; so are the revisions up to ${upto - 1}` : why;
    for (let revision = from; revision < (isLong ? from + 1 : upto); revision += 1) {
      this.findings.add({ kind, stream, revision, seal: null, detail });
    }
  }

  /** Takes an event that comes after later ones of its stream: it fills a gap that was noted, or it is a duplicate. */
  private seeLate(stream: string, revision: number): void {
    const sql = "SELECT first, upto FROM gaps WHERE stream = ?1 AND first <= ?2 AND upto > ?2";
    const gap = this.db.get(sql, stream, revision);
    const detail = gap ? "it comes after later events of its stream" : "its stream has that revision already";
    this.findings.add({ kind: gap ? "moved" : "inserted", stream, revision, seal: null, detail });
    if (!gap) return;
    const { first, upto } = gap;
    this.db.run("DELETE FROM gaps WHERE stream = ? AND first = ?", stream, Number(first));
    this.noteGap(stream, Number(first), revision);
    this.noteGap(stream, revision + 1, Number(upto));
  }

  private noteGap(stream: string, first: number, upto: number): void {
    if (first >= upto || upto <= this.progressOf(stream).released) return;
    const sql = "INSERT INTO gaps VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET upto = max(upto, excluded.upto)";
    this.db.run(sql, stream, first, upto);
  }

  private progressOf(stream: string): Progress {
    const known = this.recent.get(stream);
    if (known) return known;
    if (this.recent.size >= STREAMS_IN_MEMORY_MAX) this.spill();
    const row = this.db.get("SELECT next, released FROM streams WHERE name = ?", stream);
    const progress = { next: Number(row?.next ?? 0), released: Number(row?.released ?? 0) };
    this.recent.set(stream, progress);
    return progress;
  }

  private spill(): void {
    for (const [name, { next, released }] of this.recent) {
      this.db.run("INSERT OR REPLACE INTO streams VALUES (?, ?, ?)", name, next, released);
    }
    this.recent.clear();
  }
}
