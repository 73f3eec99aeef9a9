import { idOfStream } from "../src/kernel/event/idOfStream.ts";
import type { ProjectedEvent, ProjectedRows } from "../src/ports/readDatabase.ts";

/** One table of a read model. `columns` is the text between the parentheses of CREATE TABLE. */
export interface ProjectionTable {
  readonly name: string;
  readonly columns: string;
  /** The columns that identify a row. Verification matches rows by them. */
  readonly key: readonly string[];
  /** CREATE INDEX statements, none of them UNIQUE: a file may have rows before it has an index. */
  readonly indexes?: readonly string[];
}

/**
 * A read model as a function of the log. `apply` is deterministic and sees only the event and its own rows: no clock,
 * no randomness, no positions. Raise `version` whenever a rebuild would give other rows, or a table or column changes,
 * because a file is kept while its version is the same. Indexes need no new version: existing files get them when they
 * are opened for writing.
 */
export interface Projection<Name extends string = string> {
  /** Lower-case with dashes: names the database file and the command-line argument. */
  readonly name: Name;
  readonly version: number;
  /** The event types that `apply` wants. It sees no others. */
  readonly events: readonly string[];
  readonly tables: readonly ProjectionTable[];
  apply(event: ProjectedEvent, db: ProjectedRows): void;
}

/** The time of an event, RFC 3339. */
export function atOf(event: ProjectedEvent): string {
  return event.metadata.at as string;
}

/** The id in the name of an event's stream. */
export function idOf(event: ProjectedEvent): string {
  return idOfStream(event.stream);
}
