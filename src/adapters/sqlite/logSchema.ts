/** Marks the file as ours: "PLdg" in ASCII. */
export const APPLICATION_ID = 0x504c6467;
export const SCHEMA_VERSION = 1;

/**
 * `streams.revision` is the last revision ever appended, so truncation never reopens a stream.
 * `log.head` is the last position ever assigned, so positions never repeat. They begin at 1 and have no gaps.
 * `data` is TEXT for JSON and BLOB for bytes.
 */
export const SCHEMA = `
  CREATE TABLE streams (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    revision INTEGER NOT NULL,
    truncate_before INTEGER NOT NULL DEFAULT 0
  );
  CREATE TABLE events (
    position INTEGER PRIMARY KEY,
    stream INTEGER NOT NULL REFERENCES streams (id),
    revision INTEGER NOT NULL,
    id TEXT NOT NULL,
    type TEXT NOT NULL,
    metadata TEXT NOT NULL,
    data NOT NULL
  );
  CREATE UNIQUE INDEX events_by_stream ON events (stream, revision);
  CREATE TABLE log (one INTEGER PRIMARY KEY CHECK (one = 1), head INTEGER NOT NULL);
  INSERT INTO log VALUES (1, 0);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};
`;
