import type { HashedEvent } from "../kernel/event/eventHash.ts";
import type { EpochMs } from "../kernel/time.ts";

/** A value that a read model's column can hold. */
export type SqlValue = string | number | null | Uint8Array;
export type SqlRow = Readonly<Record<string, SqlValue>>;

/**
 * One read model's own SQLite database, as `apply` and queries see it. Synchronous: a projection is never
 * waiting for anything but its own rows. Statements are prepared once for each text.
 */
export interface ReadDatabase {
  /** Alone may change rows. */
  run(sql: string, ...values: readonly SqlValue[]): void;
  get(sql: string, ...values: readonly SqlValue[]): SqlRow | undefined;
  all(sql: string, ...values: readonly SqlValue[]): readonly SqlRow[];
}

/** The rows of a read model as `apply` sees them, within the transaction of the events around it. */
export interface ProjectedRows extends ReadDatabase {
  /** Changes rows by a statement that ends in RETURNING; the first row that it answers. */
  change(sql: string, ...values: readonly SqlValue[]): SqlRow | undefined;
  /**
   * Adds amounts to sums. The values of `sql` are the key of their row and then the amounts, and it adds what it is
   * given to what there is. It may run later, once for all amounts of one key, but before the transaction ends; so
   * `apply` must not read these sums.
   */
  add(sql: string, key: readonly SqlValue[], amounts: readonly number[]): void;
}

/** An event of the log as a read model sees it: without its position, which no row may hold. */
export type ProjectedEvent = HashedEvent;

/** Why a database did not do what it was asked. */
export type ReadDatabaseFailure =
  /** The statement is at fault: bad SQL, or a constraint that the row breaks. */
  | "statement"
  /** Locked, out of room, or not there: another time it may work. */
  | "unavailable"
  /** The file is not a sound database: it is to be built anew. */
  | "damaged";

/** What every operation of a read database throws. Its message names tables and columns, never values. */
export class ReadDatabaseError extends Error {
  override readonly name = "ReadDatabaseError";
  constructor(
    readonly failure: ReadDatabaseFailure,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** What a query says; null where its read model cannot be asked, as while it is being made anew. */
export function unlessUnavailable<Value>(query: () => Value): Value | null {
  try {
    return query();
  } catch (error) {
    if (!(error instanceof ReadDatabaseError)) throw error;
    return null;
  }
}

/** A read model's database as the runners see it: one connection, which is theirs alone. */
export interface ReadDatabaseFile extends ProjectedRows, Disposable {
  /** The rows one by one, for walks that memory could not hold. */
  rows(sql: string, ...values: readonly SqlValue[]): Iterable<SqlRow>;
  /** Starts a transaction that writes; waits a bounded time for another one's end. */
  begin(): void;
  /** Starts a transaction that sees the rows as they are now until it ends, whatever others commit. */
  beginSnapshot(): void;
  commit(): void;
  /** Undoes the open transaction; does nothing when there is none. */
  rollback(): void;
  /** A number that changes when another connection has committed. */
  dataVersion(): number;
  /** Closes the file; an open transaction is rolled back. A second call does nothing. */
  close(): void;
  /**
   * Puts what a file opened with `build` holds beside it, durably: `resume` goes on from there, whatever becomes
   * of the file. Replaces what was saved before. Not within a transaction, and nothing else meanwhile.
   */
  save(): Promise<void>;
  /** Makes a file opened with `build` durable and fit for other connections, and closes it. Nothing stays saved. */
  publish(): void;
}

/**
 * `read`: the file must be there. `write`: created where missing; readers in other threads and processes go on
 * reading meanwhile. `build`: created where missing, fast and not durable before `publish`, and locked against
 * everyone else for as long as it is open, so that a dead builder's file can be distinguished from a live one's.
 */
export type ReadDatabaseMode = "read" | "write" | "build";

/** Where read databases live. Every operation throws {@link ReadDatabaseError}. */
export interface ReadDatabases {
  open(path: string, mode: ReadDatabaseMode): ReadDatabaseFile;
  /**
   * Opens, as `build` does, what was last saved of a build whose builder is gone. Undefined when nothing was
   * saved, and while any connection of any process has the file open.
   */
  resume(path: string): ReadDatabaseFile | undefined;
  /** When the build at `path` was last saved; null when nothing of it is. */
  savedAt(path: string): EpochMs | null;
  /**
   * Moves everything into the file and cuts its write-ahead log to nothing. False while another connection is in the
   * way: then it changes nothing that matters. Never waits.
   */
  truncateWriteAheadLog(path: string): boolean;
  /** Removes a database with all that belongs to it; false while any connection of any process has it open. */
  remove(path: string): boolean;
}
