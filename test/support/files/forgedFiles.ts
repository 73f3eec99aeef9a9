import { DatabaseSync } from "node:sqlite";
import { AUDIT_STREAM } from "../../../src/domain/audit/events.ts";
import { INSTANCE_STREAM } from "../../../src/domain/instance/events.ts";
import { IMPORT_STREAM } from "../../../src/domain/logImport/events.ts";
import { closeGaps, type RandomIndex, type Row } from "../logTampering.ts";

/** A log's file for a forger: its path, its sealed events, and a way to pick one. */
export interface ForgeryTarget {
  readonly path: string;
  /** Sealed events, seals not among them. */
  readonly rows: readonly Row[];
  readonly pick: RandomIndex;
}

/** Forges a file. Returns the findings that a check must report, or null if this log does not allow the forgery. */
export type Forgery = (target: ForgeryTarget) => readonly string[] | null;

/** `lastRows`: the events that are the last of their stream. */
type Edit = (
  db: DatabaseSync,
  target: ForgeryTarget & { readonly lastRows: readonly Row[] },
) => readonly string[] | null;

/** Turns off SQLite's guard against writing to the schema table, which a forger with the file can do too. */
function makeSchemaWritable(db: DatabaseSync): void {
  (db as unknown as { enableDefensive(isOn: boolean): void }).enableDefensive(false);
}

/** A forgery made by a change to the open database. */
function edit(change: Edit): Forgery {
  return (target) => {
    const db = new DatabaseSync(target.path);
    makeSchemaWritable(db);
    try {
      const lastRevisions = new Map(
        db
          .prepare("SELECT id, revision FROM streams")
          .all()
          .map(({ id, revision }) => [id, revision]),
      );
      const lastRows = target.rows.filter(({ stream, revision }) => lastRevisions.get(stream) === revision);
      return change(db, { ...target, lastRows });
    } finally {
      db.close();
    }
  };
}

/** SQL statements that cause the same findings in every log. */
function statements(sql: string, ...findings: readonly string[]): Forgery {
  return edit((db) => {
    db.exec(sql);
    return findings;
  });
}

export function pickOne<Item>(items: readonly Item[], pick: RandomIndex): Item | null {
  return items[pick(items.length)] ?? null;
}

export function nameOf({ name, revision }: { readonly name: string; readonly revision: number }): string {
  return `${name}@${revision}`;
}

/** Sets a column of a picked event, which the check must name. */
function changedColumn(assignment: string, isSuitable: (row: Row) => boolean = () => true): Forgery {
  return edit((db, { rows, pick }) => {
    const row = pickOne(rows.filter(isSuitable), pick);
    if (row === null) return null;
    db.exec("PRAGMA ignore_check_constraints = ON");
    db.prepare(`UPDATE events SET ${assignment} WHERE position = ?`).run(row.position);
    return [nameOf(row)];
  });
}

/** Puts an event, a key that nobody issued, at a position that no read of the whole log reaches. */
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

function setDefinition(db: DatabaseSync, object: string, sql: string): void {
  db.exec("PRAGMA writable_schema = ON");
  db.prepare("UPDATE sqlite_master SET sql = ? WHERE name = ?").run(sql, object);
  db.exec("PRAGMA writable_schema = RESET");
}

function definitionOf(db: DatabaseSync, object: string): string {
  return String(db.prepare("SELECT sql FROM sqlite_master WHERE name = ?").get(object)?.sql);
}

/** Changes the definition of a schema object for good. */
function redefinedObject(object: string, finding: string, change: (sql: string) => string): Forgery {
  return edit((db) => {
    setDefinition(db, object, change(definitionOf(db, object)));
    return [finding];
  });
}

/** Too far to reach step by step, but still a safe integer in JavaScript. */
const FAR = Number.MAX_SAFE_INTEGER - 1;
const INDEX = "events_by_stream";

/** Rebuilds the index without one event and puts its definition back: only the tree itself shows it. */
const hiddenByIndex: Forgery = edit((db, { rows, pick }) => {
  const row = pickOne(rows, pick);
  if (row === null) return null;
  const sql = definitionOf(db, INDEX);
  setDefinition(db, INDEX, `${sql} WHERE NOT (stream = ${row.stream} AND revision = ${row.revision})`);
  db.exec(`REINDEX ${INDEX}`);
  setDefinition(db, INDEX, sql);
  return [nameOf(row)];
});

/** Takes the index of names out of the schema, renames a stream, and puts the index back as it was. */
function renamedStream(newName: (name: string) => string): Forgery {
  return edit((db, { rows, pick }) => {
    const row = pickOne(rows, pick);
    if (row === null) return null;
    const index = db.prepare("SELECT * FROM sqlite_master WHERE name = 'sqlite_autoindex_streams_1'").get();
    const sql = definitionOf(db, "streams");
    db.exec(
      "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name = 'sqlite_autoindex_streams_1'",
    );
    db.exec("PRAGMA writable_schema = RESET");
    setDefinition(db, "streams", sql.replace(" UNIQUE", ""));
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

/** A second event with the same revision, added while the index was not unique. */
const repeatedRevision: Forgery = edit((db, { rows, pick }) => {
  const row = pickOne(rows, pick);
  if (row === null) return null;
  const sql = definitionOf(db, INDEX);
  db.exec(`DROP INDEX ${INDEX}; CREATE INDEX ${INDEX} ON events (stream, revision)`);
  appendRow(db, { ...row, type: "ApiKeyIssued" });
  setDefinition(db, INDEX, sql);
  return [nameOf(row)];
});

/** Appends an event as the service does, but does not update its stream's row. */
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

/** Appends an event made from the last event of a picked stream, and advances the revision. */
function appendedEvent(
  make: (last: Row, newStream: (name: string) => NewStream) => Omit<Row, "id">,
  sameId = false,
): Forgery {
  return edit((db, { lastRows, pick }) => {
    const last = pickOne(lastRows, pick);
    if (last === null) return null;
    const event = make(last, (name) => {
      const { lastInsertRowid } = db.prepare("INSERT INTO streams (name, revision) VALUES (?, 0)").run(name);
      return { name, stream: Number(lastInsertRowid), revision: 0 };
    });
    appendRow(db, event, sameId ? last.id : undefined);
    db.prepare("UPDATE streams SET revision = ? WHERE id = ?").run(event.revision, event.stream);
    return [nameOf(event)];
  });
}

/** Removes rows, then makes positions, head and streams agree again as far as possible. */
function removedRows(selectRows: (rows: readonly Row[], pick: RandomIndex) => readonly Row[]): Forgery {
  return edit((db, { rows, pick }) => {
    const removed = selectRows(rows, pick);
    if (removed.length === 0) return null;
    for (const { position } of removed) db.prepare("DELETE FROM events WHERE position = ?").run(position);
    db.exec(`UPDATE streams SET revision = (SELECT max(revision) FROM events WHERE stream = streams.id)
      WHERE id IN (SELECT stream FROM events)`);
    db.exec("DELETE FROM streams WHERE id NOT IN (SELECT stream FROM events)");
    closeGaps(db);
    return removed.map(nameOf);
  });
}

/** Changes one member of the data of an event. */
function changedDataMember(type: string, change: (data: Record<string, unknown>) => void): Forgery {
  return edit((db, { rows, pick }) => {
    const row = pickOne(
      rows.filter((candidate) => candidate.type === type && typeof candidate.data === "string"),
      pick,
    );
    if (row === null) return null;
    const data = JSON.parse(String(row.data));
    change(data);
    db.prepare("UPDATE events SET data = ? WHERE position = ?").run(JSON.stringify(data), row.position);
    return [nameOf(row)];
  });
}

function changedMetadata(name: string, value: string): Forgery {
  return edit((db, { rows, pick }) => {
    const row = pickOne(rows, pick);
    if (row === null) return null;
    const changed = { ...JSON.parse(row.metadata), [name]: value };
    db.prepare("UPDATE events SET metadata = ? WHERE position = ?").run(
      JSON.stringify(changed),
      row.position,
    );
    return [nameOf(row)];
  });
}

/** Changes the row of a picked stream; `finding` says what the check must report, given the stream's last event. */
function changedStreamRow(assignment: string, finding: (last: Row) => string): Forgery {
  return edit((db, { lastRows, pick }) => {
    const last = pickOne(lastRows, pick);
    if (last === null) return null;
    db.exec(`UPDATE streams SET ${assignment} WHERE id = ${last.stream}`);
    return [finding(last)];
  });
}

function changedEmptyRow(change: string): Forgery {
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

/** What a forger does to the file of a log, in addition to the changes of `logTampering`. */
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
  "a stream hidden behind the index of names": renamedStream(() => `apikey-${"0".repeat(36)}`),
  "another column": statements("ALTER TABLE events ADD COLUMN note TEXT", "table events"),
  "a generated column": statements(
    "ALTER TABLE events ADD COLUMN length INTEGER GENERATED ALWAYS AS (length(data))",
    "table events",
  ),
  "another collation": redefinedObject("streams", "table streams", (sql) =>
    sql.replace("name TEXT NOT NULL", "name TEXT NOT NULL COLLATE NOCASE"),
  ),
  "a check taken away": redefinedObject("log", "table log", (sql) => sql.replace(" CHECK (one = 1)", "")),
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
  "a revision below 0": changedColumn("revision = -1", ({ revision }) => revision === 0),
  "a revision that is text": edit((db, { rows, pick }) => {
    const row = pickOne(rows, pick);
    if (row === null) return null;
    db.prepare("UPDATE events SET revision = 'last' WHERE position = ?").run(row.position);
    return [`position ${row.position} in ${row.name}`];
  }),
  "a revision between two": edit((db, { rows, pick }) => {
    const row = pickOne(rows, pick);
    if (row === null) return null;
    db.prepare("UPDATE events SET revision = revision + 0.5 WHERE position = ?").run(row.position);
    return [nameOf({ name: row.name, revision: row.revision + 0.5 })];
  }),
  "a revision twice": repeatedRevision,
  "an event behind the end of its stream": edit((db, { lastRows, pick }) => {
    const last = pickOne(lastRows, pick);
    if (last === null) return null;
    const next = { ...last, revision: last.revision + 1 };
    appendRow(db, next);
    return [nameOf(next)];
  }),
  "an event of no stream": edit((db, { rows, pick }) => {
    const row = pickOne(rows, pick);
    if (row === null) return null;
    db.exec("PRAGMA foreign_keys = OFF");
    db.prepare("UPDATE events SET stream = 999999999 WHERE position = ?").run(row.position);
    return [`position ${row.position}`, nameOf(row)];
  }),
  "a stream that says it ends sooner": changedStreamRow("revision = revision - 1", nameOf),
  "a stream that says it ends later": changedStreamRow("revision = revision + 2", ({ name, revision }) =>
    nameOf({ name, revision: revision + 2 }),
  ),
  "a stream that says it is cut off": changedStreamRow("truncate_before = revision + 1", nameOf),
  "a stream that says it is not cut off": edit((db) => {
    const row = db.prepare(`SELECT s.id, s.name FROM streams s WHERE truncate_before > 0 LIMIT 1`).get();
    if (row === undefined) return null;
    db.prepare("UPDATE streams SET truncate_before = 0 WHERE id = ?").run(Number(row.id));
    return [`${row.name}@0`];
  }),
  "a stream cut off below nothing": changedStreamRow("truncate_before = -1", ({ name }) => `stream ${name}`),
  "data as bytes": changedColumn("data = CAST(data AS BLOB)", ({ data }) => typeof data === "string"),
  "metadata as bytes": changedColumn("metadata = CAST(metadata AS BLOB)"),
  "a type as bytes": changedColumn("type = CAST(type AS BLOB)"),
  "an id as bytes": changedColumn("id = CAST(id AS BLOB)"),
  "data that is no JSON": changedColumn("data = '{'"),
  "metadata that is no JSON": changedColumn("metadata = ''"),
  "an event hidden behind an empty type": changedColumn("type = ''"),
  "what was erased put back": changedEmptyRow(
    "UPDATE events SET type = 'EmailContentStored', id = 'x', metadata = '{}', data = '{}' WHERE position = ?",
  ),
  "what is left of an erased event used to hide something": changedEmptyRow(
    "UPDATE events SET data = 'a note' WHERE position = ?",
  ),
  "what is left of an erased event removed": changedEmptyRow("DELETE FROM events WHERE position = ?"),
  "data that is nested without end":
    changedColumn(`data = '{"a":' || replace(hex(zeroblob(100000)), '00', '[') ||
    replace(hex(zeroblob(100000)), '00', ']') || '}'`),
  "data that is too large to be read": changedColumn("data = hex(zeroblob(30000000))"),
  "metadata that are too large to be read": changedColumn("metadata = hex(zeroblob(30000000))"),
  "an id that is too long": changedColumn("id = hex(zeroblob(30000000))"),
  "a table whose rows cannot be checked in time": redefinedObject("events", "table events", (sql) =>
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
    setDefinition(db, "slow", "CREATE INDEX slow ON events (length(hex(zeroblob(400000000 + position))))");
    return ["index slow"];
  }),
  "an event in the stream of imports": appendedEvent((row, newStream) => ({
    ...row,
    ...newStream(IMPORT_STREAM),
    type: "ApiKeyIssued",
  })),
  "a zero-width character in a stream's name": changedStreamRow(`name = name || '${ZERO_WIDTH}'`, nameOf),
  "a look-alike of a stream": appendedEvent((row, newStream) => {
    const name = `${CYRILLIC_A}pikey-${crypto.randomUUID()}`;
    return { ...row, ...newStream(name), type: "ApiKeyIssued" };
  }),
  "a stream of nobody's": appendedEvent((row, newStream) => ({
    ...row,
    ...newStream(`backdoor-${crypto.randomUUID()}`),
  })),
  "an event of another noun's": appendedEvent((last) => ({
    ...last,
    revision: last.revision + 1,
    type: last.name === INSTANCE_STREAM ? "ApiKeyIssued" : "InstanceRestored",
  })),
  "an event of a type that there is not": appendedEvent((last) => ({
    ...last,
    revision: last.revision + 1,
    type: `${last.type}${ZERO_WIDTH}`,
  })),
  "an event again, with its id": appendedEvent((last) => ({ ...last, revision: last.revision + 1 }), true),
  "a stream's first events cut off": edit((db, { rows, pick }) => {
    const row = pickOne(
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
  "a stream's last events removed": removedRows((rows, pick) => {
    const row = pickOne(rows.filter(isDeletable), pick);
    return row === null
      ? []
      : rows.filter(({ stream, revision }) => stream === row.stream && revision >= row.revision);
  }),
  "the log's first events removed": removedRows((rows) => rows.filter(isDeletable).slice(0, 3)),
  "a stretch of the log removed": removedRows((rows, pick) => {
    const from = pick(rows.length - 20);
    return rows.slice(from, from + 20).filter(isDeletable);
  }),
  "another actor": changedMetadata("actor", "cli"),
  "another workspace": changedMetadata("workspaceId", "00000000-0000-4000-8000-000000000000"),
  "another time": changedMetadata("at", "2020-01-01T00:00:00.000Z"),
  "another version": changedMetadata("schema", "2"),
  "another recipient, with the digest kept": changedDataMember("EmailQueued", (data) => {
    data.recipientHash = "0".repeat(64);
  }),
  "another content, with its salt kept": changedDataMember("EmailContentStored", (data) => {
    data.content = { ...(data.content as object), subject: "Goodbye" };
  }),
  "another digest of content": changedDataMember("EmailQueued", (data) => {
    data.contentDigest = "0".repeat(64);
  }),
  "more scopes for a key": changedDataMember("ApiKeyIssued", (data) => {
    data.scopes = ["workspace:manage"];
  }),
};

/** What is cut off in the course of things is no forgery when it goes. */
function isDeletable({ name }: Row): boolean {
  return !name.startsWith("storage-");
}
