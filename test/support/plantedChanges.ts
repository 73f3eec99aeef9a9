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

/** Where a change was made: what a check has to name. */
export interface Place {
  readonly stream: string;
  readonly revision: number;
}

/** Picks a whole number below `below`. */
export type Pick = (below: number) => number;

/** The same numbers for the same seed. */
export function pickerOf(seed: number): Pick {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return Math.floor(((state >>> 8) / 2 ** 24) * below);
  };
}

/** Changes a log's file as somebody would who can write to it; where it did, or null when it could not here. */
export type Plant = (db: DatabaseSync, rows: readonly Row[], pick: Pick) => readonly (Row | Place)[] | null;

/** Every event that is there, in the order of the log: what is cut off leaves an empty row. */
const ROWS = `SELECT e.position, e.stream, s.name, e.revision, e.id, e.type, e.metadata, e.data
  FROM events e JOIN streams s ON s.id = e.stream WHERE e.type <> '' ORDER BY e.position`;

/** Every event of a log's file, in the order of the log. */
export function rowsOf(path: string): readonly Row[] {
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    return db.prepare(ROWS).all() as unknown as readonly Row[];
  } finally {
    db.close();
  }
}

function one<Item>(items: readonly Item[], pick: Pick): Item {
  const item = items[pick(items.length)];
  if (item === undefined) throw new Error("there is nothing to pick from");
  return item;
}

/** Flips one bit of one byte, of which nothing but other text or other bytes comes. */
function flipped<Value extends string | Uint8Array>(value: Value, pick: Pick): Value {
  const bytes = Buffer.from(value as string);
  const at = pick(bytes.length);
  bytes[at] = (bytes[at] ?? 0) ^ (1 << pick(7));
  return (typeof value === "string" ? bytes.toString("latin1") : new Uint8Array(bytes)) as Value;
}

/** Whether the data says the same as before: a flip among the bits of a compression that nobody reads is no change. */
function saysTheSame(before: Row["data"], after: Row["data"]): boolean {
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
export function flip(column: "data" | "metadata" | "type" | "id"): Plant {
  return (db, rows, pick) => {
    const row = one(rows, pick);
    const value = flipped(row[column], pick);
    if ((column === "data" || column === "metadata") && saysTheSame(row[column], value)) return null;
    db.prepare(`UPDATE events SET ${column} = ? WHERE position = ?`).run(value, row.position);
    return [row];
  };
}

/** Numbers the positions anew, as a careful forger does who has taken events out. */
export function closeGaps(db: DatabaseSync): void {
  db.exec(
    `UPDATE events SET position = -(SELECT count(*) FROM events e WHERE e.position <= events.position)`,
  );
  db.exec("UPDATE events SET position = -position; UPDATE log SET head = (SELECT max(position) FROM events)");
}

/** The free position behind `position`, which the rows behind it make room for. */
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
  if (last === undefined) throw new Error("a stream of an event has events");
  return last;
}

/** Every kind of change, each of which a check has to find among sealed events. */
export const PLANTS: Readonly<Record<string, Plant>> = {
  "a bit of an event's data": flip("data"),
  "a bit of an event's metadata": flip("metadata"),
  "a bit of an event's type": flip("type"),
  "a bit of an event's id": flip("id"),
  "a bit of a stream's name": (db, rows, pick) => {
    const row = one(rows, pick);
    db.prepare("UPDATE streams SET name = ? WHERE id = ?").run(flipped(row.name, pick), row.stream);
    return rows.filter(({ stream }) => stream === row.stream);
  },
  "an event in another stream": (db, rows, pick) => {
    const row = one(rows, pick);
    const target = one(rows, pick);
    if (target.stream === row.stream) return null;
    const revision = lastOf(rows, target.stream).revision + 1;
    const move = db.prepare("UPDATE events SET stream = ?, revision = ? WHERE position = ?");
    move.run(target.stream, revision, row.position);
    return [row];
  },
  "an event removed": (db, rows, pick) => {
    const row = one(rows, pick);
    db.prepare("DELETE FROM events WHERE position = ?").run(row.position);
    return [row];
  },
  "an event emptied, as what is cut off is": (db, rows, pick) => {
    const row = one(rows, pick);
    const empty = "UPDATE events SET id = '', type = '', metadata = '', data = '' WHERE position = ?";
    db.prepare(empty).run(row.position);
    return [row];
  },
  "a stream removed": (db, rows, pick) => {
    const { stream } = one(rows, pick);
    db.prepare("DELETE FROM events WHERE stream = ?").run(stream);
    db.prepare("DELETE FROM streams WHERE id = ?").run(stream);
    return rows.filter((row) => row.stream === stream);
  },
  "an event put at a stream's end": (db, rows, pick) => {
    const row = one(rows, pick);
    const last = lastOf(rows, row.stream);
    // Before a sealed one, or nobody could tell it from what came since the last seal.
    const added = { ...row, revision: last.revision + 1 };
    insert(db, makeRoom(db, last === rows.at(-1) ? last.position - 1 : last.position), added);
    return [added];
  },
  "an event put between others of its stream": (db, rows, pick) => {
    const row = one(rows, pick);
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
  "an event put into a stream of its own": (db, rows, pick) => {
    const row = one(rows, pick);
    const stream = Number(
      db.prepare("INSERT INTO streams (name, revision) VALUES ('apikey-planted', 0)").run().lastInsertRowid,
    );
    insert(db, makeRoom(db, row.position - 1), { ...row, stream, revision: 0 });
    return [{ stream: "apikey-planted", revision: 0 }];
  },
  "a placeholder put at a stream's end": (db, rows, pick) => {
    const row = one(rows, pick);
    const last = lastOf(rows, row.stream);
    const added = { ...row, revision: last.revision + 1, type: "EventErased", data: "{}" };
    insert(db, makeRoom(db, last.position - 1), added);
    return [added];
  },
  "a placeholder in an event's place": (db, rows, pick) => {
    const row = one(rows, pick);
    db.prepare("UPDATE events SET type = 'EventErased', data = '{}' WHERE position = ?").run(row.position);
    return [row];
  },
  "two events with each other's payload": (db, rows, pick) => {
    const [a, b] = [one(rows, pick), one(rows, pick)];
    if (a === b || (a.data === b.data && a.metadata === b.metadata)) return null;
    const set = db.prepare("UPDATE events SET data = ?, metadata = ? WHERE position = ?");
    set.run(a.data, a.metadata, b.position);
    set.run(b.data, b.metadata, a.position);
    return [a, b];
  },
};

/** Two events lie in each other's place: at least one of them has to be named. */
export const swapTwo: Plant = (db, rows, pick) => {
  const [a, b] = [one(rows, pick), one(rows, pick)];
  if (a === b) return null;
  const move = db.prepare("UPDATE events SET position = ? WHERE position = ?");
  move.run(-1, a.position);
  move.run(a.position, b.position);
  move.run(b.position, -1);
  return [a, b];
};

function placeOf({ name: stream, revision }: Row): Place {
  return { stream, revision };
}

/** Plants a change among the events that `isSealed` picks; where it did. */
export function plantIn(
  path: string,
  plant: Plant,
  pick: Pick,
  isSealed: (row: Row) => boolean,
): readonly Place[] {
  const db = new DatabaseSync(path);
  try {
    const rows = (db.prepare(ROWS).all() as unknown as Row[]).filter(isSealed);
    for (;;) {
      const planted = plant(db, rows, pick);
      if (planted) return planted.map((place) => ("name" in place ? placeOf(place) : place));
    }
  } finally {
    db.close();
  }
}

/** Flips a bit of an event's id in the file itself, where the database knows nothing of it; where it did. */
export function flipInFile(path: string, pick: Pick, isSealed: (row: Row) => boolean): Place {
  const db = new DatabaseSync(path);
  const row = one((db.prepare(ROWS).all() as unknown as Row[]).filter(isSealed), pick);
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  const file = readFileSync(path);
  // An id is followed by the event's type; where others speak of it, it is not.
  const at = file.indexOf(row.id + row.type) + pick(row.id.length);
  file[at] = (file[at] ?? 0) ^ (1 << pick(7));
  writeFileSync(path, file);
  return placeOf(row);
}
