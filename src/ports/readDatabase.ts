import type { HashedEvent } from "../kernel/event/eventHash.ts";
import type { EpochMs } from "../kernel/time.ts";

/** A value that a read model's column can hold. */
export type SqlValue = string | number | null | Uint8Array;
export type SqlRow = Readonly<Record<string, SqlValue>>;

/**
 * One read model's own SQLite database, as `apply` and queries see it. Synchronous, because a projection never
 * waits for anything but its own rows. Each statement text is prepared once.
 */
export interface ReadDatabase {
  /** The only one of the three that may change rows. */
  run(sql: string, ...values: readonly SqlValue[]): void;
  get(sql: string, ...values: readonly SqlValue[]): SqlRow | undefined;
  all(sql: string, ...values: readonly SqlValue[]): readonly SqlRow[];
}

/** The rows of a read model as `apply` sees them, within the transaction that applies a batch of events. */
export interface ProjectedRows extends ReadDatabase {
  /** Runs a statement that changes rows and ends in RETURNING; returns its first row. */
  change(sql: string, ...values: readonly SqlValue[]): SqlRow | undefined;
  /**
   * Adds amounts to sums. The parameters of `sql` are the row's key and then the amounts, which it adds to the stored
   * sums. It may run later in the same transaction, once for all amounts of a key, so `apply` must not read these sums.
   */
  add(sql: string, key: readonly SqlValue[], amounts: readonly number[]): void;
}

/** An event of the log as a read model sees it: without its position, because no row may hold one. */
export type ProjectedEvent = HashedEvent;

export type ReadDatabaseFailure =
  /** The statement is at fault: bad SQL, or a violated constraint. */
  | "statement"
  /** Locked, out of room, or missing: a later try may succeed. */
  | "unavailable"
  /** The file is not a sound database and must be rebuilt. */
  | "damaged";

/** What every operation of a read database throws. The message names tables and columns, never values. */
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

/** The result of a query; null if its read model is unavailable, for example during a rebuild. */
export function unlessUnavailable<Value>(query: () => Value): Value | null {
  try {
    return query();
  } catch (error) {
    if (!(error instanceof ReadDatabaseError)) throw error;
    return null;
  }
}

/** The rows of a query. Its columns have the names and types of `Row`'s members: `AS` renames those that differ. */
export function allRows<Row>(db: ReadDatabase, sql: string, ...values: readonly SqlValue[]): readonly Row[] {
  return db.all(sql, ...values) as unknown as readonly Row[];
}

/** The first row of such a query; null when there is none. */
export function firstRow<Row>(db: ReadDatabase, sql: string, ...values: readonly SqlValue[]): Row | null {
  return (db.get(sql, ...values) ?? null) as unknown as Row | null;
}

/** A read model's database as its follower, rebuild or check sees it: one connection, used by nobody else. */
export interface ReadDatabaseFile extends ProjectedRows, Disposable {
  /** The rows one by one, for results too large for memory. */
  rows(sql: string, ...values: readonly SqlValue[]): Iterable<SqlRow>;
  /** Starts a write transaction; waits a bounded time for another one to end. */
  begin(): void;
  /** Starts a read transaction that keeps seeing the rows as they are now, whatever others commit. */
  beginSnapshot(): void;
  commit(): void;
  /** Undoes the open transaction; does nothing when there is none. */
  rollback(): void;
  /** A number that changes whenever another connection commits. */
  dataVersion(): number;
  /** Closes the file; an open transaction is rolled back. A second call does nothing. */
  close(): void;
  /**
   * Saves a durable copy of a file opened with `build` beside it. `resume` can continue from there, even if the file is
   * lost. Replaces the previous copy. Call it outside a transaction, and leave the file alone meanwhile.
   */
  save(): Promise<void>;
  /** Makes a file opened with `build` durable and usable by others, closes it, and deletes its saved copy. */
  publish(): void;
}

/**
 * `read`: the file must exist. `write`: created if missing; other threads and processes can keep reading it. `build`:
 * created if missing, fast, not durable before `publish`. It is locked against everyone else while open, which tells
 * a live builder's file from a dead one's.
 */
export type ReadDatabaseMode = "read" | "write" | "build";

/** Where read databases live. Every operation throws {@link ReadDatabaseError}. */
export interface ReadDatabases {
  open(path: string, mode: ReadDatabaseMode): ReadDatabaseFile;
  /**
   * Opens the last saved copy of a build whose builder is gone, in mode `build`. Undefined when nothing was saved, or
   * while any connection of any process has the file open.
   */
  resume(path: string): ReadDatabaseFile | undefined;
  /** When the build at `path` was last saved; null if it never was. */
  savedAt(path: string): EpochMs | null;
  /**
   * Checkpoints the write-ahead log and empties it. False if another connection is in the way; that does
   * no harm. Never waits.
   */
  emptyWriteAheadLog(path: string): boolean;
  /** Removes a database with all its files; false while any connection of any process has it open. */
  remove(path: string): boolean;
}
