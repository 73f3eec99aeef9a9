import type { ProjectedEvent, ReadDatabase } from "../src/ports/readDatabase.ts";

/** One table of a read model. `columns` is what stands between the parentheses of CREATE TABLE. */
export interface ProjectionTable {
  readonly name: string;
  readonly columns: string;
  /** The columns that identify a row: rows are compared by them when a read model is verified. */
  readonly key: readonly string[];
  /** Further CREATE INDEX statements. */
  readonly indexes?: readonly string[];
}

/**
 * A read model as a function of the log. `apply` is deterministic and looks at nothing but the event and its
 * own rows: no clock, no randomness, no positions. Raise `version` whenever a rebuild would give other rows, and whenever
 * a table, a column or an index changes: those are made with a new file alone, and a file is kept while its version is.
 */
export interface Projection {
  /** Lower-case with dashes: names the database file and the command-line argument. */
  readonly name: string;
  readonly version: number;
  /** The event types that `apply` wants; others are not shown to it. */
  readonly events: readonly string[];
  readonly tables: readonly ProjectionTable[];
  apply(event: ProjectedEvent, db: ReadDatabase): void;
}
