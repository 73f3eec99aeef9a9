import type { Projection } from "../../../projections/projection.ts";
import { LOG_START, type Position } from "../../ports/eventStore.ts";
import { type ReadDatabase, ReadDatabaseError } from "../../ports/readDatabase.ts";

/** What a database file says about itself: what its rows are made of, and up to where. */
export interface GenerationMeta {
  readonly logId: string;
  readonly projection: string;
  readonly version: number;
  readonly checkpoint: Position;
}

const META_TABLE = `CREATE TABLE meta (
  one INTEGER PRIMARY KEY CHECK (one = 1),
  log_id TEXT NOT NULL,
  projection TEXT NOT NULL,
  version INTEGER NOT NULL,
  checkpoint TEXT NOT NULL
)`;

/** Makes what a new file says about itself: nothing of the log is in it yet. */
export function createMeta(db: ReadDatabase, { name, version }: Projection, logId: string): void {
  db.run(META_TABLE);
  db.run("INSERT INTO meta VALUES (1, ?, ?, ?, ?)", logId, name, version, LOG_START);
}

/** Reads what the file says about itself. */
export function readMeta(db: ReadDatabase): GenerationMeta {
  const row = db.get("SELECT log_id, projection, version, checkpoint FROM meta");
  if (!row) throw new ReadDatabaseError("damaged", "the file has no checkpoint");
  return {
    logId: String(row.log_id),
    projection: String(row.projection),
    version: Number(row.version),
    checkpoint: String(row.checkpoint) as Position,
  };
}

/** Moves the checkpoint; part of the transaction that holds the rows. */
export function writeCheckpoint(db: ReadDatabase, position: Position): void {
  db.run("UPDATE meta SET checkpoint = ?", position);
}
