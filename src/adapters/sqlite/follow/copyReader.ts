import { existsSync, statSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import type { LogView } from "../../../ports/eventStore.ts";
import { fullIntegrityCheck } from "../fullIntegrityCheck.ts";
import { positionText } from "../logPosition.ts";
import { LogReader } from "../logReader.ts";
import { quickIntegrityCheck } from "../quickIntegrityCheck.ts";
import { existing, onCopy } from "./logCopy.ts";
import { LogRows } from "./logRows.ts";

/** How long a follower may take for a commit, on a slow network volume. */
const BUSY_MS_MAX = 10_000;
const IN_USE = "is being written by `backup follow`: try again in a moment";

/**
 * A copy that is kept up to date, open for reading. As long as it is open, and not released, nobody can change the copy:
 * a follower waits.
 */
export class CopyReader extends LogRows {
  /** Completes what a killed follower has left. Throws `StoreError` if the copy cannot be read. */
  static open(path: string): CopyReader {
    return onCopy(
      path,
      () => {
        completeLastCommit(path);
        const db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS_MAX });
        try {
          db.exec("PRAGMA trusted_schema = OFF");
          // Keeps the lock of the first read.
          db.exec("PRAGMA locking_mode = EXCLUSIVE; SELECT count(*) FROM sqlite_schema");
          return new CopyReader(path, db);
        } catch (error) {
          db.close();
          throw error;
        }
      },
      IN_USE,
    );
  }

  /** The log in the copy, until this is closed. */
  view(): LogView {
    const { db } = this;
    const reader = new LogReader(db);
    const read = <Result>(work: () => Result) => this.read(work);
    return {
      ...this.streams(),
      head: async () => positionText(this.head()),
      lastRevision: async (stream) => read(() => reader.lastRevision(stream)),
      faults: async (depth) =>
        read(() => (depth === "whole" ? fullIntegrityCheck(db) : quickIntegrityCheck(db))),
      async *readAll(from, filter) {
        const head = read(() => reader.head());
        for (let position = from; ; ) {
          const batch = read(() => reader.batch(position, filter, head));
          yield batch;
          if (batch.caughtUp) return;
          position = batch.position;
        }
      },
      async *truncations() {
        for (let id: number | null = 0; id !== null; ) {
          const after: number = id;
          const { page, next } = read(() => reader.truncations(after));
          yield page;
          id = next;
        }
      },
    };
  }

  /** Lets followers change the copy: from now on each read locks it by itself, for a moment. */
  release(): void {
    this.read(() => this.db.exec("PRAGMA locking_mode = NORMAL; SELECT count(*) FROM sqlite_schema"));
  }

  /** Copies the log's file to `target`, which must not exist, without free pages. */
  copyTo(target: string): void {
    this.read(() => this.db.prepare("VACUUM INTO ?").run(target));
  }

  protected read<Result>(work: () => Result): Result {
    return onCopy(this.path, work, IN_USE);
  }
}

/**
 * A process that was killed while it wrote leaves a journal, and one that opened the copy as its own log leaves a
 * write-ahead log. Opening the file for writing takes back what was half written, and adds what was committed.
 */
function completeLastCommit(path: string): void {
  const url = existing(path);
  if (!hasJournal(path) && !hasWriteAheadLog(path)) return;
  using db = new DatabaseSync(url, { timeout: BUSY_MS_MAX });
  db.exec("PRAGMA journal_mode = DELETE");
}

function hasJournal(path: string): boolean {
  const journal = `${path}-journal`;
  return existsSync(journal) && statSync(journal).size > 0;
}

function hasWriteAheadLog(path: string): boolean {
  using db = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS_MAX });
  return db.prepare("PRAGMA journal_mode").get()?.journal_mode === "wal";
}
