import type { DatabaseSync } from "node:sqlite";
import { messageOf } from "../../../kernel/text/errorReason.ts";
import type { AppendResult, ExpectedRevision } from "../../../ports/eventStore.ts";
import { positionText } from "../logPosition.ts";

/** An event whose data and metadata are already bytes or text: nothing inside a transaction can fail on them. */
export interface PreparedEvent {
  readonly id: string;
  readonly type: string;
  readonly metadata: string;
  readonly data: string | Uint8Array;
}

/** One append of a transaction. */
export interface PreparedAppend {
  readonly stream: string;
  readonly events: readonly PreparedEvent[];
  readonly expected: ExpectedRevision;
}

/** How a transaction ended. One that failed in its COMMIT may be in the log all the same; `reason` is SQLite's own. */
export type TransactionOutcome =
  | { readonly kind: "committed"; readonly results: readonly AppendResult[]; readonly hasWritten: boolean }
  | { readonly kind: "failed"; readonly isUncertain: boolean; readonly reason: string };

/** Of a transaction whose writer was lost: it may be in the log all the same. */
export const OUTCOME_UNKNOWN: TransactionOutcome = {
  kind: "failed",
  isUncertain: true,
  reason: "its writer was lost, or the disk has failed",
};

/** Of a transaction that was not begun, because what was written before it could not be made durable. */
export const NOT_WRITTEN: TransactionOutcome = {
  kind: "failed",
  isUncertain: false,
  reason: "the disk has failed",
};

/** The answer to an append of no events, which only waits until what is there is on disk. */
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

  /** `synchronous`: whether its COMMIT waits for the disk (`FULL`), or its caller flushes the write-ahead log (`NORMAL`). */
  constructor(
    private readonly db: DatabaseSync,
    private readonly synchronous: "FULL" | "NORMAL",
  ) {}

  /** Prepared for the first append: a file that is opened only to say what is wrong with it may have no such tables. */
  private get statements() {
    this.prepared ??= prepareAll(this.db);
    return this.prepared;
  }

  /** All of these in one transaction, with one flush at most. It fails as a whole where the file is locked or failing. */
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
      return { kind: "failed", isUncertain, reason: messageOf(error) };
    } finally {
      // Whatever else is written on this connection waits for the disk.
      if (this.synchronous !== "FULL") this.db.exec("PRAGMA synchronous = FULL");
    }
  }

  private rollback(): void {
    try {
      this.db.exec("ROLLBACK");
    } catch {
      // SQLite has rolled back by itself, or BEGIN never succeeded: there is nothing left to undo.
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

  /** The stream's row id when the expectation holds, with its revision already moved; null when it does not. */
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

  /** The same append again is answered as it was the first time; anything else has lost. */
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
