import type { ProjectedEvent, ProjectedRows } from "../src/ports/readDatabase.ts";

/** One table of a read model. `columns` is what goes between the parentheses of CREATE TABLE. */
export interface ProjectionTable {
  readonly name: string;
  readonly columns: string;
  /** The columns that identify a row: rows are compared by them when a read model is verified. */
  readonly key: readonly string[];
  /** CREATE INDEX statements, none of them UNIQUE: a file may have rows before it has an index. */
  readonly indexes?: readonly string[];
}

/**
 * A read model as a function of the log. `apply` is deterministic and looks at nothing but the event and its own rows:
 * no clock, no randomness, no positions. Raise `version` whenever a rebuild would give other rows, and whenever a table
 * or a column changes: a file is kept as long as its version is the same. Indexes need no new version: a file that is
 * there gets them when it is opened for writing.
 */
export interface Projection {
  /** Lower-case with dashes: names the database file and the command-line argument. */
  readonly name: string;
  readonly version: number;
  /** The event types that `apply` wants; others are not shown to it. */
  readonly events: readonly string[];
  readonly tables: readonly ProjectionTable[];
  apply(event: ProjectedEvent, db: ProjectedRows): void;
}
