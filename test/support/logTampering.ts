import { readFileSync, writeFileSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";

/** An event of the log's file. */
export interface Row {
  readonly position: number;
  readonly stream: number;
  readonly name: string;
  readonly revision: number;
  readonly id: string;
  readonly type: string;
  readonly metadata: string;
  readonly data: string | Uint8Array;
}

/** Where a change was made, which a check has to name. */
export interface EventLocation {
  readonly stream: string;
  readonly revision: number;
}

/** Returns a random integer from 0 to `below - 1`. */
export type RandomIndex = (below: number) => number;

/** A generator that returns the same numbers for the same seed. */
export function seededPick(seed: number): RandomIndex {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor(((state >>> 8) / 2 ** 24) * below);
  };
}

/** Changes a log's file as a forger would. Returns the places, or null if this pick does not allow the change. */
export type Tampering = (
  db: DatabaseSync,
  rows: readonly Row[],
  pick: RandomIndex,
) => readonly (Row | EventLocation)[] | null;

/** All events in log order, without the empty rows that truncated events leave. */
const ROWS = `SELECT e.position, e.stream, s.name, e.revision, e.id, e.type, e.metadata, e.data
  FROM events e JOIN streams s ON s.id = e.stream WHERE e.type <> '' ORDER BY e.position`;

/** All events of a log's file, in log order. */
export function rowsOf(path: string): readonly Row[] {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return db.prepare(ROWS).all() as unknown as readonly Row[];
  } finally {
    db.close();
  }
}

function pickOne<Item>(items: readonly Item[], pick: RandomIndex): Item {
  const item = items[pick(items.length)];
  if (item === undefined) throw new Error("there is nothing to pick from");
  return item;
}

/** Flips one of the lower seven bits of one byte. */
function withFlippedBit<Value extends string | Uint8Array>(value: Value, pick: RandomIndex): Value {
  const bytes = Buffer.from(value as string);
  const offset = pick(bytes.length);
  bytes[offset] = (bytes[offset] ?? 0) ^ (1 << pick(7));
  return (typeof value === "string" ? bytes.toString("latin1") : new Uint8Array(bytes)) as Value;
}

/** Whether the data still decodes to the same content: a flipped bit that decompression ignores is no change. */
function hasSameContent(before: Row["data"], after: Row["data"]): boolean {
  const text = (data: Row["data"]) => {
    try {
      const plain = typeof data === "string" ? data : Buffer.from(Bun.zstdDecompressSync(data)).toString();
      return JSON.stringify(JSON.parse(plain));
    } catch {
      return null;
    }
  };
  return text(after) !== null && text(before) === text(after);
}

/** Flips a bit in one column of an event. */
export function flip(column: "data" | "metadata" | "type" | "id"): Tampering {
  return (db, rows, pick) => {
    const row = pickOne(rows, pick);
    const value = withFlippedBit(row[column], pick);
    if ((column === "data" || column === "metadata") && hasSameContent(row[column], value)) return null;
    db.prepare(`UPDATE events SET ${column} = ? WHERE position = ?`).run(value, row.position);
    return [row];
  };
}

/** Renumbers the positions, as a careful forger would after removing events. */
export function closeGaps(db: DatabaseSync): void {
  db.exec(
    `UPDATE events SET position = -(SELECT count(*) FROM events e WHERE e.position <= events.position)`,
  );
  db.exec("UPDATE events SET position = -position; UPDATE log SET head = (SELECT max(position) FROM events)");
}

/** Moves the later rows up by one. Returns the free position after `position`. */
function makeRoom(db: DatabaseSync, position: number): number {
  db.prepare("UPDATE events SET position = -position WHERE position > ?").run(position);
  db.exec("UPDATE events SET position = 1 - position WHERE position < 0");
  return position + 1;
}

function insert(db: DatabaseSync, position: number, { stream, revision, type, metadata, data }: Row): void {
  db.prepare("INSERT INTO events VALUES (?, ?, ?, ?, ?, ?, ?)").run(
    position,
    stream,
    revision,
    crypto.randomUUID(),
    type,
    metadata,
    data,
  );
}

function lastOf(rows: readonly Row[], stream: number): Row {
  const last = rows.findLast((row) => row.stream === stream);
  if (last === undefined) throw new Error("the stream has no events");
  return last;
}

/** All kinds of changes. A check has to find each of them among sealed events. */
export const TAMPERINGS: Readonly<Record<string, Tampering>> = {
  "a bit of an event's data": flip("data"),
  "a bit of an event's metadata": flip("metadata"),
  "a bit of an event's type": flip("type"),
  "a bit of an event's id": flip("id"),
  "a bit of a stream's name": (db, rows, pick) => {
    const row = pickOne(rows, pick);
    db.prepare("UPDATE streams SET name = ? WHERE id = ?").run(withFlippedBit(row.name, pick), row.stream);
    return rows.filter(({ stream }) => stream === row.stream);
  },
  "an event in another stream": (db, rows, pick) => {
    const row = pickOne(rows, pick);
    const target = pickOne(rows, pick);
    if (target.stream === row.stream) return null;
    const revision = lastOf(rows, target.stream).revision + 1;
    const move = db.prepare("UPDATE events SET stream = ?, revision = ? WHERE position = ?");
    move.run(target.stream, revision, row.position);
    return [row];
  },
  "an event removed": (db, rows, pick) => {
    const row = pickOne(rows, pick);
    db.prepare("DELETE FROM events WHERE position = ?").run(row.position);
    return [row];
  },
  "an event emptied, as truncation does": (db, rows, pick) => {
    const row = pickOne(rows, pick);
    const empty = "UPDATE events SET id = '', type = '', metadata = '', data = '' WHERE position = ?";
    db.prepare(empty).run(row.position);
    return [row];
  },
  "a stream removed": (db, rows, pick) => {
    const { stream } = pickOne(rows, pick);
    db.prepare("DELETE FROM events WHERE stream = ?").run(stream);
    db.prepare("DELETE FROM streams WHERE id = ?").run(stream);
    return rows.filter((row) => row.stream === stream);
  },
  "an event added at a stream's end": (db, rows, pick) => {
    const row = pickOne(rows, pick);
    const last = lastOf(rows, row.stream);
    // Before a sealed event, because otherwise it could be an event since the last seal.
    const added = { ...row, revision: last.revision + 1 };
    insert(db, makeRoom(db, last === rows.at(-1) ? last.position - 1 : last.position), added);
    return [added];
  },
  "an event inserted into its stream": (db, rows, pick) => {
    const row = pickOne(rows, pick);
    db.prepare("UPDATE events SET revision = -revision WHERE stream = ? AND revision >= ?").run(
      row.stream,
      row.revision,
    );
    db.prepare(
      "UPDATE events SET revision = 1 - revision WHERE stream = ? AND revision <= 0 AND position >= ?",
    ).run(row.stream, row.position);
    insert(db, makeRoom(db, row.position - 1), { ...row, data: '{"planted":true}' });
    return [row];
  },
  "an event added in a new stream": (db, rows, pick) => {
    const row = pickOne(rows, pick);
    const stream = Number(
      db.prepare("INSERT INTO streams (name, revision) VALUES ('apikey-planted', 0)").run().lastInsertRowid,
    );
    insert(db, makeRoom(db, row.position - 1), { ...row, stream, revision: 0 });
    return [{ stream: "apikey-planted", revision: 0 }];
  },
  "a placeholder added at a stream's end": (db, rows, pick) => {
    const row = pickOne(rows, pick);
    const last = lastOf(rows, row.stream);
    const added = { ...row, revision: last.revision + 1, type: "EventErased", data: "{}" };
    insert(db, makeRoom(db, last.position - 1), added);
    return [added];
  },
  "a placeholder in an event's place": (db, rows, pick) => {
    const row = pickOne(rows, pick);
    db.prepare("UPDATE events SET type = 'EventErased', data = '{}' WHERE position = ?").run(row.position);
    return [row];
  },
  "two events with swapped payloads": (db, rows, pick) => {
    const [a, b] = [pickOne(rows, pick), pickOne(rows, pick)];
    if (a === b || (a.data === b.data && a.metadata === b.metadata)) return null;
    const set = db.prepare("UPDATE events SET data = ?, metadata = ? WHERE position = ?");
    set.run(a.data, a.metadata, b.position);
    set.run(b.data, b.metadata, a.position);
    return [a, b];
  },
};

/** Swaps the positions of two events. A check has to name at least one of them. */
export const swapTwo: Tampering = (db, rows, pick) => {
  const [a, b] = [pickOne(rows, pick), pickOne(rows, pick)];
  if (a === b) return null;
  const move = db.prepare("UPDATE events SET position = ? WHERE position = ?");
  move.run(-1, a.position);
  move.run(a.position, b.position);
  move.run(b.position, -1);
  return [a, b];
};

function locationOf({ name: stream, revision }: Row): EventLocation {
  return { stream, revision };
}

/** Changes one of the events that `isSealed` selects. Returns the places. */
export function tamperWith(
  path: string,
  tampering: Tampering,
  pick: RandomIndex,
  isSealed: (row: Row) => boolean,
): readonly EventLocation[] {
  const db = new DatabaseSync(path);
  try {
    const rows = (db.prepare(ROWS).all() as unknown as Row[]).filter(isSealed);
    for (;;) {
      const changed = tampering(db, rows, pick);
      if (changed) return changed.map((location) => ("name" in location ? locationOf(location) : location));
    }
  } finally {
    db.close();
  }
}

/** Flips a bit of an event's id directly in the file, bypassing the database. Returns the place. */
export function flipInFile(path: string, pick: RandomIndex, isSealed: (row: Row) => boolean): EventLocation {
  const db = new DatabaseSync(path);
  const row = pickOne((db.prepare(ROWS).all() as unknown as Row[]).filter(isSealed), pick);
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  const file = readFileSync(path);
  // In its own row the id is followed by the event's type; in references it is not.
  const offset = file.indexOf(row.id + row.type) + pick(row.id.length);
  file[offset] = (file[offset] ?? 0) ^ (1 << pick(7));
  writeFileSync(path, file);
  return locationOf(row);
}
