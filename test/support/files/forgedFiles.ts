import { DatabaseSync } from "node:sqlite";
import { AUDIT_STREAM } from "../../../src/domain/audit/events.ts";
import { INSTANCE_STREAM } from "../../../src/domain/instance/events.ts";
import { IMPORT_STREAM } from "../../../src/kernel/event/unexportedEvents.ts";
import { closeGaps, type Pick, type Row } from "../plantedChanges.ts";

/** A log's file as a forger has it before him: its sealed events, and something to choose by. */
export interface ForgersDesk {
  readonly path: string;
  /** Sealed events, seals not among them. */
  readonly rows: readonly Row[];
  readonly pick: Pick;
}

/** What a forger does to a file; the places that a check has to name, or null when it cannot be done to this log. */
export type Forgery = (desk: ForgersDesk) => readonly string[] | null;

/** `lasts`: those of the events behind which nothing of their stream comes. */
type Edit = (
  db: DatabaseSync,
  desk: ForgersDesk & { readonly lasts: readonly Row[] },
) => readonly string[] | null;

/** SQLite's own guard against writing the schema as a table; whoever has the file can do without. */
function letSchemaBeWritten(db: DatabaseSync): void {
  (db as unknown as { enableDefensive(isOn: boolean): void }).enableDefensive(false);
}

/** Opens the file as whoever can write it may. */
function edit(change: Edit): Forgery {
  return (desk) => {
    const db = new DatabaseSync(desk.path);
    letSchemaBeWritten(db);
    try {
      const ends = new Map(
        db
          .prepare("SELECT id, revision FROM streams")
          .all()
          .map(({ id, revision }) => [id, revision]),
      );
      const lasts = desk.rows.filter(({ stream, revision }) => ends.get(stream) === revision);
      return change(db, { ...desk, lasts });
    } finally {
      db.close();
    }
  };
}

/** Statements that end in the same fault whatever the log holds. */
function statements(sql: string, ...places: readonly string[]): Forgery {
  return edit((db) => {
    db.exec(sql);
    return places;
  });
}

export function one<Item>(items: readonly Item[], pick: Pick): Item | null {
  return items[pick(items.length)] ?? null;
}

export function nameOf({ name, revision }: { readonly name: string; readonly revision: number }): string {
  return `${name}@${revision}`;
}

/** Sets a column of an event that is picked; the event has to be named. */
function column(assignment: string, isFit: (row: Row) => boolean = () => true): Forgery {
  return edit((db, { rows, pick }) => {
    const row = one(rows.filter(isFit), pick);
    if (row === null) return null;
    db.exec("PRAGMA ignore_check_constraints = ON");
    db.prepare(`UPDATE events SET ${assignment} WHERE position = ?`).run(row.position);
    return [nameOf(row)];
  });
}

/** Puts an event where nobody who reads the log as a whole comes past: a key that nobody issued. */
function forgedKeyAt(position: bigint): Forgery {
  return edit((db) => {
    const name = `apikey-${crypto.randomUUID()}`;
    const { lastInsertRowid } = db.prepare("INSERT INTO streams (name, revision) VALUES (?, 0)").run(name);
    db.prepare("INSERT INTO events VALUES (?, ?, 0, ?, 'ApiKeyIssued', '{}', '{}')").run(
      position,
      lastInsertRowid,
      crypto.randomUUID(),
    );
    return [`${name}@0`];
  });
}

function defined(db: DatabaseSync, object: string, sql: string): void {
  db.exec("PRAGMA writable_schema = ON");
  db.prepare("UPDATE sqlite_master SET sql = ? WHERE name = ?").run(sql, object);
  db.exec("PRAGMA writable_schema = RESET");
}

function definitionOf(db: DatabaseSync, object: string): string {
  return String(db.prepare("SELECT sql FROM sqlite_master WHERE name = ?").get(object)?.sql);
}

/** Defines an object of the schema otherwise, and leaves it so. */
function redefined(object: string, place: string, change: (sql: string) => string): Forgery {
  return edit((db) => {
    defined(db, object, change(definitionOf(db, object)));
    return [place];
  });
}

/** So far that nobody comes there step by step; still a whole number to JavaScript. */
const FAR = Number.MAX_SAFE_INTEGER - 1;
const INDEX = "events_by_stream";

/** Rebuilds the index without one event and puts its definition back: only the tree itself shows it. */
const hiddenByIndex: Forgery = edit((db, { rows, pick }) => {
  const row = one(rows, pick);
  if (row === null) return null;
  const sql = definitionOf(db, INDEX);
  defined(db, INDEX, `${sql} WHERE NOT (stream = ${row.stream} AND revision = ${row.revision})`);
  db.exec(`REINDEX ${INDEX}`);
  defined(db, INDEX, sql);
  return [nameOf(row)];
});

/** Takes the index of names out of the schema, renames a stream, and puts the index back as it was. */
function renamedBehindTheIndex(newName: (name: string) => string): Forgery {
  return edit((db, { rows, pick }) => {
    const row = one(rows, pick);
    if (row === null) return null;
    const index = db.prepare("SELECT * FROM sqlite_master WHERE name = 'sqlite_autoindex_streams_1'").get();
    const sql = definitionOf(db, "streams");
    db.exec(
      "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name = 'sqlite_autoindex_streams_1'",
    );
    db.exec("PRAGMA writable_schema = RESET");
    defined(db, "streams", sql.replace(" UNIQUE", ""));
    db.prepare("UPDATE streams SET name = ? WHERE id = ?").run(newName(row.name), row.stream);
    db.exec("PRAGMA writable_schema = ON");
    db.prepare("INSERT INTO sqlite_master VALUES ('index', ?, 'streams', ?, NULL)").run(
      String(index?.name),
      Number(index?.rootpage),
    );
    db.prepare("UPDATE sqlite_master SET sql = ? WHERE name = 'streams'").run(sql);
    db.exec("PRAGMA writable_schema = RESET");
    return [`stream ${newName(row.name)}`, `stream ${row.name}`];
  });
}

/** A second event of one revision, behind an index that was not unique for a moment. */
const repeatedRevision: Forgery = edit((db, { rows, pick }) => {
  const row = one(rows, pick);
  if (row === null) return null;
  const sql = definitionOf(db, INDEX);
  db.exec(`DROP INDEX ${INDEX}; CREATE INDEX ${INDEX} ON events (stream, revision)`);
  appendRow(db, { ...row, type: "ApiKeyIssued" });
  defined(db, INDEX, sql);
  return [nameOf(row)];
});

/** Appends an event as the service does, but for what it says of its stream. */
function appendRow(
  db: DatabaseSync,
  { stream, revision, type, metadata, data }: Omit<Row, "id">,
  id?: string,
): void {
  db.exec("UPDATE log SET head = head + 1");
  db.prepare("INSERT INTO events VALUES ((SELECT head FROM log), ?, ?, ?, ?, ?, ?)").run(
    ...[stream, revision, id ?? crypto.randomUUID(), type, metadata, data],
  );
}

interface NewStream {
  readonly name: string;
  readonly stream: number;
  readonly revision: number;
}

/** Appends what is made of the last event of a stream that is picked, and moves the revision on. */
function appended(
  make: (last: Row, newStream: (name: string) => NewStream) => Omit<Row, "id">,
  sameId = false,
): Forgery {
  return edit((db, { lasts, pick }) => {
    const last = one(lasts, pick);
    if (last === null) return null;
    const made = make(last, (name) => {
      const { lastInsertRowid } = db.prepare("INSERT INTO streams (name, revision) VALUES (?, 0)").run(name);
      return { name, stream: Number(lastInsertRowid), revision: 0 };
    });
    appendRow(db, made, sameId ? last.id : undefined);
    db.prepare("UPDATE streams SET revision = ? WHERE id = ?").run(made.revision, made.stream);
    return [nameOf(made)];
  });
}

/** Removes rows, and makes positions, head and streams agree again, as far as they can. */
function cut(where: (rows: readonly Row[], pick: Pick) => readonly Row[]): Forgery {
  return edit((db, { rows, pick }) => {
    const gone = where(rows, pick);
    if (gone.length === 0) return null;
    for (const { position } of gone) db.prepare("DELETE FROM events WHERE position = ?").run(position);
    db.exec(`UPDATE streams SET revision = (SELECT max(revision) FROM events WHERE stream = streams.id)
      WHERE id IN (SELECT stream FROM events)`);
    db.exec("DELETE FROM streams WHERE id NOT IN (SELECT stream FROM events)");
    closeGaps(db);
    return gone.map(nameOf);
  });
}

/** The data of an event with one of its members changed. */
function member(type: string, change: (data: Record<string, unknown>) => void): Forgery {
  return edit((db, { rows, pick }) => {
    const row = one(
      rows.filter((each) => each.type === type && typeof each.data === "string"),
      pick,
    );
    if (row === null) return null;
    const data = JSON.parse(String(row.data));
    change(data);
    db.prepare("UPDATE events SET data = ? WHERE position = ?").run(JSON.stringify(data), row.position);
    return [nameOf(row)];
  });
}

function metadata(name: string, value: string): Forgery {
  return edit((db, { rows, pick }) => {
    const row = one(rows, pick);
    if (row === null) return null;
    const changed = { ...JSON.parse(row.metadata), [name]: value };
    db.prepare("UPDATE events SET metadata = ? WHERE position = ?").run(
      JSON.stringify(changed),
      row.position,
    );
    return [nameOf(row)];
  });
}

/** Sets what the row of a stream that is picked says, by its last event; `place` is what has to be named. */
function streamRow(assignment: string, place: (last: Row) => string): Forgery {
  return edit((db, { lasts, pick }) => {
    const last = one(lasts, pick);
    if (last === null) return null;
    db.exec(`UPDATE streams SET ${assignment} WHERE id = ${last.stream}`);
    return [place(last)];
  });
}

function emptiedRow(change: string): Forgery {
  return edit((db) => {
    const row = db
      .prepare(`SELECT e.position, e.revision, s.name FROM events e JOIN streams s ON s.id = e.stream
        WHERE e.type = '' AND s.name <> '${AUDIT_STREAM}' ORDER BY e.position LIMIT 1`)
      .get();
    if (row === undefined) return null;
    db.prepare(change).run(Number(row.position));
    return [`${row.name}@${row.revision}`];
  });
}

const ZERO_WIDTH = "\u200b";
/** Looks like the Latin letter. */
const CYRILLIC_A = "\u0430";

/** What a forger does to the file of a log, beside the changes of `plantedChanges`. */
export const FILE_FORGERIES: Readonly<Record<string, Forgery>> = {
  "a trigger": statements(
    "CREATE TRIGGER spy AFTER INSERT ON events BEGIN DELETE FROM events WHERE position = new.position; END",
    "trigger spy",
  ),
  "a view": statements(
    "CREATE VIEW keys AS SELECT data FROM events WHERE type = 'ApiKeyIssued'",
    "view keys",
  ),
  "a table": statements("CREATE TABLE notes (text)", "table notes"),
  "another index": statements("CREATE INDEX by_type ON events (type)", "index by_type"),
  "statistics that lead the planner": statements("ANALYZE", "table sqlite_stat1"),
  "the index of streams dropped": statements(`DROP INDEX ${INDEX}`, `index ${INDEX}`),
  "the index of streams no longer unique": statements(
    `DROP INDEX ${INDEX}; CREATE INDEX ${INDEX} ON events (stream, revision)`,
    `index ${INDEX}`,
  ),
  "a partial index": statements(
    `DROP INDEX ${INDEX}; CREATE UNIQUE INDEX ${INDEX} ON events (stream, revision) WHERE type <> 'ApiKeyRevoked'`,
    `index ${INDEX}`,
  ),
  "an event hidden by an index whose definition was put back": hiddenByIndex,
  "a stream hidden behind the index of names": renamedBehindTheIndex(() => `apikey-${"0".repeat(36)}`),
  "another column": statements("ALTER TABLE events ADD COLUMN note TEXT", "table events"),
  "a generated column": statements(
    "ALTER TABLE events ADD COLUMN length INTEGER GENERATED ALWAYS AS (length(data))",
    "table events",
  ),
  "another collation": redefined("streams", "table streams", (sql) =>
    sql.replace("name TEXT NOT NULL", "name TEXT NOT NULL COLLATE NOCASE"),
  ),
  "a check taken away": redefined("log", "table log", (sql) => sql.replace(" CHECK (one = 1)", "")),
  "another version of the schema": statements("PRAGMA user_version = 7", "pragma user_version"),
  "another application's mark": statements("PRAGMA application_id = 7", "pragma application_id"),
  "a lower head": edit((db) => {
    const head = Number(db.prepare("SELECT head FROM log").get()?.head);
    db.exec("UPDATE log SET head = head - 1");
    return [`position ${head}`];
  }),
  "a higher head": edit((db) => {
    db.exec("UPDATE log SET head = head + 5");
    return [`position ${db.prepare("SELECT head FROM log").get()?.head}`];
  }),
  "a head far away": edit((db) => {
    db.exec(`UPDATE log SET head = ${FAR}`);
    return [`position ${FAR}`];
  }),
  "the last event and the head far away": edit((db) => {
    const last = Number(db.prepare("SELECT max(position) AS last FROM events").get()?.last);
    db.exec(`UPDATE events SET position = ${FAR} WHERE position = ${last}; UPDATE log SET head = ${FAR}`);
    return [`positions ${last} to ${FAR - 1}`];
  }),
  "seals that end far away": edit((db) => {
    const last = Number(
      db.prepare("SELECT revision FROM streams WHERE name = ?").get(AUDIT_STREAM)?.revision,
    );
    db.prepare("UPDATE streams SET revision = ? WHERE name = ?").run(FAR, AUDIT_STREAM);
    return [nameOf({ name: AUDIT_STREAM, revision: last + 1 })];
  }),
  "the last seal far away": edit((db) => {
    const stream = db.prepare("SELECT id, revision FROM streams WHERE name = ?").get(AUDIT_STREAM);
    db.exec(`UPDATE events SET revision = ${FAR} WHERE stream = ${stream?.id} AND revision = ${stream?.revision};
      UPDATE streams SET revision = ${FAR} WHERE id = ${stream?.id}`);
    return [nameOf({ name: AUDIT_STREAM, revision: Number(stream?.revision) })];
  }),
  "a head that is no number": statements("UPDATE log SET head = 'far'", "head"),
  "a second head": statements(
    "PRAGMA ignore_check_constraints = ON; INSERT INTO log SELECT 2, head FROM log",
    "table log",
  ),
  "no head": statements("DELETE FROM log", "table log"),
  "an event at position -1": forgedKeyAt(-1n),
  "an event at position 0": forgedKeyAt(0n),
  "an event at the lowest position": forgedKeyAt(-(2n ** 63n)),
  "an event at the highest position": forgedKeyAt(2n ** 53n),
  "a revision below 0": column("revision = -1", ({ revision }) => revision === 0),
  "a revision that is text": edit((db, { rows, pick }) => {
    const row = one(rows, pick);
    if (row === null) return null;
    db.prepare("UPDATE events SET revision = 'last' WHERE position = ?").run(row.position);
    return [`position ${row.position} in ${row.name}`];
  }),
  "a revision between two": edit((db, { rows, pick }) => {
    const row = one(rows, pick);
    if (row === null) return null;
    db.prepare("UPDATE events SET revision = revision + 0.5 WHERE position = ?").run(row.position);
    return [nameOf({ name: row.name, revision: row.revision + 0.5 })];
  }),
  "a revision twice": repeatedRevision,
  "an event behind the end of its stream": edit((db, { lasts, pick }) => {
    const last = one(lasts, pick);
    if (last === null) return null;
    const behind = { ...last, revision: last.revision + 1 };
    appendRow(db, behind);
    return [nameOf(behind)];
  }),
  "an event of no stream": edit((db, { rows, pick }) => {
    const row = one(rows, pick);
    if (row === null) return null;
    db.exec("PRAGMA foreign_keys = OFF");
    db.prepare("UPDATE events SET stream = 999999999 WHERE position = ?").run(row.position);
    return [`position ${row.position}`, nameOf(row)];
  }),
  "a stream that says it ends sooner": streamRow("revision = revision - 1", nameOf),
  "a stream that says it ends later": streamRow("revision = revision + 2", ({ name, revision }) =>
    nameOf({ name, revision: revision + 2 }),
  ),
  "a stream that says it is cut off": streamRow("truncate_before = revision + 1", nameOf),
  "a stream that says it is not cut off": edit((db) => {
    const row = db.prepare(`SELECT s.id, s.name FROM streams s WHERE truncate_before > 0 LIMIT 1`).get();
    if (row === undefined) return null;
    db.prepare("UPDATE streams SET truncate_before = 0 WHERE id = ?").run(Number(row.id));
    return [`${row.name}@0`];
  }),
  "a stream cut off below nothing": streamRow("truncate_before = -1", ({ name }) => `stream ${name}`),
  "data as bytes": column("data = CAST(data AS BLOB)", ({ data }) => typeof data === "string"),
  "metadata as bytes": column("metadata = CAST(metadata AS BLOB)"),
  "a type as bytes": column("type = CAST(type AS BLOB)"),
  "an id as bytes": column("id = CAST(id AS BLOB)"),
  "data that is no JSON": column("data = '{'"),
  "metadata that is no JSON": column("metadata = ''"),
  "an event hidden behind an empty type": column("type = ''"),
  "what was erased put back": emptiedRow(
    "UPDATE events SET type = 'EmailContentStored', id = 'x', metadata = '{}', data = '{}' WHERE position = ?",
  ),
  "what is left of an erased event used to hide something": emptiedRow(
    "UPDATE events SET data = 'a note' WHERE position = ?",
  ),
  "what is left of an erased event removed": emptiedRow("DELETE FROM events WHERE position = ?"),
  "data that is nested without end": column(`data = '{"a":' || replace(hex(zeroblob(100000)), '00', '[') ||
    replace(hex(zeroblob(100000)), '00', ']') || '}'`),
  "data that is too large to be read": column("data = hex(zeroblob(30000000))"),
  "metadata that are too large to be read": column("metadata = hex(zeroblob(30000000))"),
  "an id that is too long": column("id = hex(zeroblob(30000000))"),
  "a table whose rows cannot be checked in time": redefined("events", "table events", (sql) =>
    sql.replace("data NOT NULL", "data NOT NULL CHECK (length(hex(zeroblob(400000000 + position))) > 0)"),
  ),
  "a view without end in place of the events": edit((db) => {
    db.exec(`ALTER TABLE events RENAME TO old; CREATE VIEW events AS WITH RECURSIVE n (position) AS
      (SELECT 1 UNION ALL SELECT position + 1 FROM n)
      SELECT position, 1 AS stream, position AS revision, 'a' AS id, 'a' AS type, '{}' AS metadata, '{}' AS data FROM n`);
    return ["table events", "view events"];
  }),
  "an index whose rows cannot be checked in time": edit((db) => {
    db.exec("CREATE INDEX slow ON events (length(hex(zeroblob(1 + position))))");
    defined(db, "slow", "CREATE INDEX slow ON events (length(hex(zeroblob(400000000 + position))))");
    return ["index slow"];
  }),
  "an event in the stream of imports": appended((row, newStream) => ({
    ...row,
    ...newStream(IMPORT_STREAM),
    type: "ApiKeyIssued",
  })),
  "a zero-width character in a stream's name": streamRow(`name = name || '${ZERO_WIDTH}'`, nameOf),
  "a look-alike of a stream": appended((row, newStream) => {
    const name = `${CYRILLIC_A}pikey-${crypto.randomUUID()}`;
    return { ...row, ...newStream(name), type: "ApiKeyIssued" };
  }),
  "a stream of nobody's": appended((row, newStream) => ({
    ...row,
    ...newStream(`backdoor-${crypto.randomUUID()}`),
  })),
  "an event of another noun's": appended((last) => ({
    ...last,
    revision: last.revision + 1,
    type: last.name === INSTANCE_STREAM ? "ApiKeyIssued" : "InstanceRestored",
  })),
  "an event of a type that there is not": appended((last) => ({
    ...last,
    revision: last.revision + 1,
    type: `${last.type}${ZERO_WIDTH}`,
  })),
  "an event again, with its id": appended((last) => ({ ...last, revision: last.revision + 1 }), true),
  "a stream's first events cut off": edit((db, { rows, pick }) => {
    const row = one(
      rows.filter(({ name, revision }) => revision === 0 && !name.startsWith("storage-")),
      pick,
    );
    if (row === null) return null;
    db.prepare("UPDATE events SET id = '', type = '', metadata = '', data = '' WHERE position = ?").run(
      row.position,
    );
    db.prepare("UPDATE streams SET truncate_before = 1 WHERE id = ?").run(row.stream);
    return [nameOf(row)];
  }),
  "a stream's last events removed": cut((rows, pick) => {
    const row = one(rows.filter(isDeleteable), pick);
    return row === null
      ? []
      : rows.filter(({ stream, revision }) => stream === row.stream && revision >= row.revision);
  }),
  "the log's first events removed": cut((rows) => rows.filter(isDeleteable).slice(0, 3)),
  "a stretch of the log removed": cut((rows, pick) => {
    const from = pick(rows.length - 20);
    return rows.slice(from, from + 20).filter(isDeleteable);
  }),
  "another actor": metadata("actor", "cli"),
  "another workspace": metadata("workspaceId", "00000000-0000-4000-8000-000000000000"),
  "another time": metadata("at", "2020-01-01T00:00:00.000Z"),
  "another version": metadata("schema", "2"),
  "another recipient, with the digest kept": member("EmailQueued", (data) => {
    data.recipientHash = "0".repeat(64);
  }),
  "another content, with its salt kept": member("EmailContentStored", (data) => {
    data.content = { ...(data.content as object), subject: "Goodbye" };
  }),
  "another digest of content": member("EmailQueued", (data) => {
    data.contentDigest = "0".repeat(64);
  }),
  "more scopes for a key": member("ApiKeyIssued", (data) => {
    data.scopes = ["workspace:manage"];
  }),
};

/** What is cut off in the course of things is no forgery when it goes. */
function isDeleteable({ name }: Row): boolean {
  return !name.startsWith("storage-");
}
