import type { Projection } from "../../../projections/projection.ts";
import { parseJson } from "../../kernel/text/json.ts";
import { type EventId, LOG_START, type Position } from "../../ports/eventStore.ts";
import { type ReadDatabase, ReadDatabaseError } from "../../ports/readDatabase.ts";

/** An event of the log, identified by its place in its stream, because a log cut short reuses positions. */
export interface EventReference {
  readonly stream: string;
  readonly revision: number;
  readonly id: EventId;
}

/** What a database file says about itself: what its rows are computed from, and up to where. */
export interface GenerationMeta {
  readonly logId: string;
  readonly projection: string;
  readonly version: number;
  readonly checkpoint: Position;
  /** The last event read before the checkpoint; null if there was none yet. */
  readonly lastEvent: EventReference | null;
}

const META_TABLE = `CREATE TABLE meta (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  log_id TEXT NOT NULL,
  projection TEXT NOT NULL,
  version INTEGER NOT NULL,
  checkpoint TEXT NOT NULL,
  last_event TEXT
)`;

/** Creates the meta row of a new file, with a checkpoint before the log's first event. */
export function createMeta(db: ReadDatabase, { name, version }: Projection, logId: string): void {
  db.run(META_TABLE);
  db.run("INSERT INTO meta VALUES (1, ?, ?, ?, ?, NULL)", logId, name, version, LOG_START);
}

/** Reads the file's meta row. */
export function readMeta(db: ReadDatabase): GenerationMeta {
  const row = db.get("SELECT * FROM meta");
  if (row?.last_event === undefined) throw new ReadDatabaseError("damaged", "the file has no checkpoint");
  return {
    logId: String(row.log_id),
    projection: String(row.projection),
    version: Number(row.version),
    checkpoint: String(row.checkpoint) as Position,
    lastEvent: typeof row.last_event === "string" ? eventReference(row.last_event) : null,
  };
}

function eventReference(text: string): EventReference {
  const { stream, revision, id } = (parseJson(text) ?? {}) as Record<string, unknown>;
  if (typeof stream === "string" && typeof revision === "number" && typeof id === "string")
    return { stream, revision, id };
  throw new ReadDatabaseError("damaged", "the file does not say what its last event is");
}

/**
 * Moves the checkpoint, in the transaction that writes the rows. `lastEvent` is the last event read since the previous
 * checkpoint; null if there was none.
 */
export function writeCheckpoint(
  db: ReadDatabase,
  position: Position,
  lastEvent: EventReference | null,
): void {
  const text = lastEvent && JSON.stringify(lastEvent);
  db.run("UPDATE meta SET checkpoint = ?, last_event = coalesce(?, last_event)", position, text);
}
