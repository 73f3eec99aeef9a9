import type { DatabaseSync } from "node:sqlite";
import { messageOf } from "../../../kernel/text/errorReason.ts";
import type { AppendResult, ExpectedRevision } from "../../../ports/eventStore.ts";
import { positionText } from "../logPosition.ts";
import { isDamage } from "../resultCode.ts";

/** An event whose data and metadata are already bytes or text, so they cannot make a transaction fail. */
export interface PreparedEvent {
  readonly id: string;
  readonly type: string;
  readonly metadata: string;
  readonly data: string | Uint8Array;
}

export interface PreparedAppend {
  readonly stream: string;
  readonly events: readonly PreparedEvent[];
  readonly expected: ExpectedRevision;
}

/**
 * How a transaction ended. One that failed in its COMMIT may still be in the log. `reason` is SQLite's message;
 * `isDamage` if SQLite says that the file is damaged.
 */
export type TransactionOutcome =
  | { readonly kind: "committed"; readonly results: readonly AppendResult[]; readonly hasWritten: boolean }
  | FailedTransaction;

interface FailedTransaction {
  readonly kind: "failed";
  readonly isUncertain: boolean;
  readonly isDamage: boolean;
  readonly reason: string;
}

/** The outcome of a transaction whose writer was lost. It may still be in the log. */
export const OUTCOME_UNKNOWN: TransactionOutcome = {
  kind: "failed",
  isUncertain: true,
  isDamage: false,
  reason: "its writer was lost, or the disk has failed",
};

/** The outcome of a transaction that did not begin because earlier writes could not be made durable. */
export const NOT_WRITTEN: TransactionOutcome = {
  kind: "failed",
  isUncertain: false,
  isDamage: false,
  reason: "the disk has failed",
};

/** The result of an append without events, which only waits until earlier commits are on disk. */
const NOTHING_APPENDED: AppendResult = { outcome: "wrongExpectedRevision", actual: null };

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
      "SELECT revision, position, id FROM events WHERE stream = ? AND revision > ? ORDER BY revision LIMIT ? + 0",
    ),
  };
}

/** Writes appends to the log on one connection. */
export class AppendTransaction {
  private prepared: ReturnType<typeof prepareAll> | null = null;

  /** `synchronous`: `FULL` if COMMIT waits for the disk, `NORMAL` if the caller flushes the write-ahead log. */
  constructor(
    private readonly db: DatabaseSync,
    private readonly synchronous: "FULL" | "NORMAL",
  ) {}

  /** Prepared at the first append, because a file opened only to report its faults may lack these tables. */
  private get statements() {
    this.prepared ??= prepareAll(this.db);
    return this.prepared;
  }

  /** Writes all appends in one transaction, with at most one flush. Fails as a whole if the file is locked or fails. */
  run(batch: readonly PreparedAppend[]): TransactionOutcome {
    let isUncertain = false;
    try {
      if (this.synchronous !== "FULL") this.db.exec("PRAGMA synchronous = NORMAL");
      this.db.exec("BEGIN IMMEDIATE");
      const { results, hasWritten } = this.appendAll(batch);
      isUncertain = true;
      this.db.exec("COMMIT");
      return { kind: "committed", results, hasWritten };
    } catch (error) {
      this.rollback();
      return { kind: "failed", isUncertain, isDamage: isDamage(error), reason: messageOf(error) };
    } finally {
      // All other writes on this connection wait for the disk.
      if (this.synchronous !== "FULL") this.db.exec("PRAGMA synchronous = FULL");
    }
  }

  private rollback(): void {
    try {
      this.db.exec("ROLLBACK");
    } catch {
      // Nothing is left to undo: SQLite has rolled back by itself, or BEGIN failed.
    }
  }

  private appendAll(batch: readonly PreparedAppend[]) {
    const before = Number(this.statements.head.get()?.head);
    let head = before;
    const results = batch.map((append) => {
      const result = this.appendOne(append, head);
      if (result.fresh) head += append.events.length;
      return result.result;
    });
    const hasWritten = head > before;
    if (hasWritten) this.statements.setHead.run(head);
    return { results, hasWritten };
  }

  private appendOne(append: PreparedAppend, head: number): { fresh: boolean; result: AppendResult } {
    const { events, expected } = append;
    if (events.length === 0) return { fresh: false, result: NOTHING_APPENDED };
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

  /** Moves the stream's revision and returns its row id if the expectation holds; otherwise null. */
  private claimRevisions(append: PreparedAppend, last: number): number | bigint | null {
    if (append.expected === "noStream") {
      const inserted = this.statements.newStream.run(append.stream, last);
      return inserted.changes === 1 ? inserted.lastInsertRowid : null;
    }
    const row = this.statements.stream.get(append.stream);
    if (row?.revision !== append.expected) return null;
    this.statements.setRevision.run(last, Number(row.id));
    return Number(row.id);
  }

  /** The first result for a repeat of the same append; any other append has lost the race. */
  private repeatOrLoss(append: PreparedAppend, first: number): AppendResult {
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
