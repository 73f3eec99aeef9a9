import type { DatabaseSync, StatementSync } from "node:sqlite";
import { PERSONAL_EVENTS } from "../../kernel/personalEvents.ts";

/** So many truncations are followed by one look at so many rows: some 5 ms of work. */
const TRUNCATIONS_PER_LOOK = 256;
const ROWS_PER_LOOK = 5_000;
/** SQLite moves rows between a page and the two on either side; a page of 4 KiB holds fewer than 300 rows. */
const NEIGHBOURS = 1_000;

/**
 * Lets go of the events of a stream below `revision`, in one transaction. Their rows stay, emptied in place.
 * Deleting a row can make SQLite join pages, and then a copy of its neighbours may stay behind in the free part of
 * a page, where `secure_delete` does not reach: a neighbour that is erased later could still be read there (about
 * one in eight thousand, measured). A row that only shrinks moves nothing.
 */
export function emptyEvents(db: DatabaseSync, stream: string, revision: number): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    const row = db.prepare("SELECT id, revision, truncate_before FROM streams WHERE name = ?").get(stream);
    const before = row === undefined ? 0 : Math.min(revision, Number(row.revision) + 1);
    // A repeat writes nothing: it would cost a flush to the disk.
    if (row !== undefined && before > Number(row.truncate_before)) {
      const id = Number(row.id);
      db.prepare("UPDATE streams SET truncate_before = ? WHERE id = ?").run(before, id);
      db.prepare(
        "UPDATE events SET id = '', type = '', metadata = '', data = '' WHERE stream = ? AND revision < ? AND type <> ''",
      ).run(id, before);
    }
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/**
 * The rows that emptied events leave behind. They are removed, and their pages freed, where no row is near that
 * somebody may have erased later: what moves then holds nothing of a person.
 */
export class EmptiedEvents {
  private truncations = 0;
  private position = 0;
  private readonly look: StatementSync;
  private readonly remove: StatementSync;

  constructor(db: DatabaseSync) {
    this.look = db.prepare(`SELECT position, type FROM events WHERE position > ? ORDER BY position LIMIT ?`);
    this.remove = db.prepare("DELETE FROM events WHERE position > ? AND position < ? AND type = ''");
  }

  /** Whether enough was truncated since the last look. */
  isDue(): boolean {
    this.truncations += 1;
    return this.truncations % TRUNCATIONS_PER_LOOK === 0;
  }

  /** Looks on from where it stood, and removes what it may; from the beginning again after the end. */
  removeSome(rowsMax = ROWS_PER_LOOK): void {
    const rows = this.look.all(this.position, rowsMax).map((row) => {
      return { position: Number(row.position), isPersonal: isPersonal(String(row.type)) };
    });
    const isEnd = rows.length < rowsMax;
    for (const [first, last] of runsWithoutPersons(rows)) {
      const from = rows[first + NEIGHBOURS]?.position;
      const to = rows[last - NEIGHBOURS]?.position;
      if (from !== undefined && to !== undefined && from < to) this.remove.run(from, to);
    }
    // The next look sees the end of this one again: a run may reach over it.
    const next = rows.at(-1 - 2 * NEIGHBOURS)?.position ?? 0;
    this.position = isEnd ? 0 : next;
  }
}

const PERSONAL: ReadonlySet<string> = new Set(PERSONAL_EVENTS);

function isPersonal(type: string): boolean {
  return PERSONAL.has(type);
}

/** The longest stretches of rows that hold nothing of a person, by their first and last index. */
function* runsWithoutPersons(
  rows: readonly { readonly isPersonal: boolean }[],
): Iterable<readonly [first: number, last: number]> {
  let first = 0;
  for (const [index, row] of rows.entries()) {
    if (!row.isPersonal) continue;
    if (index > first) yield [first, index - 1];
    first = index + 1;
  }
  if (rows.length > first) yield [first, rows.length - 1];
}
