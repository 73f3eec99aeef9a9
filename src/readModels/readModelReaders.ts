import { join } from "node:path";
import type { Projection } from "../../projections/projection.ts";
import type { ReadModelName } from "../../projections/readModelName.ts";
import { LOG_START, type Position } from "../ports/eventStore.ts";
import {
  type ReadDatabase,
  ReadDatabaseError,
  type ReadDatabaseFile,
  type ReadDatabases,
  unlessUnavailable,
} from "../ports/readDatabase.ts";
import type { FollowEvent } from "./follow/followerThreadMessages.ts";

interface ReadersOptions<Name extends string = string> {
  readonly databases: ReadDatabases;
  /** `<DATA_DIR>/projections`. */
  readonly directory: string;
  readonly projections: readonly Pick<Projection<Name>, "name">[];
  /** Called with each file that a query finds damaged, once until the follower opens a file again. */
  readonly onDamage?: (file: string) => void;
}

/** The status of a projection, as last reported by the follower. */
export interface ReaderStatus {
  readonly name: string;
  /** `absent`: not opened yet. `behind`: catching up with the live position. `failed`: stopped, rows stay. */
  readonly state: "absent" | "behind" | "live" | "failed";
  /** The rows hold the log at least up to here. */
  readonly position: Position;
  /** Live, and at the head of the log at the follower's last report. */
  readonly isCaughtUp: boolean;
  /** Whether it has been at the head of the log since the start. */
  readonly hasCaughtUp: boolean;
  readonly failure: string | null;
  /** The name of the open file; null if none was opened yet. */
  readonly file: string | null;
}

/** The reading side of the read models: one read-only connection for each projection's current generation. */
export interface Readers<Name extends string = ReadModelName> {
  /**
   * The rows of a projection. Callers may keep it: it switches to a new generation by itself. Its operations throw
   * {@link ReadDatabaseError} `unavailable` until the follower opens a generation.
   */
  reader(name: Name): ReadDatabase;
  /**
   * The same for a query that each of many requests makes: those of one turn of the event loop share a snapshot. To begin
   * one locks and unlocks the file, which takes several times as long as to find a row. Only for rows that seldom
   * change: under load one is nearly always open, and then the write-ahead log cannot restart.
   */
  turnReader(name: Name): ReadDatabase;
  status(): readonly ReaderStatus[];
  /** The last known position of this projection's rows. */
  position(name: Name): Position;
  /** The position up to which no event of a watched type follows `position`; null if the follower cannot tell. */
  noneWatchedUntil(position: Position): Position | null;
  /** Waits until the rows can be queried; false after `timeoutMs`. */
  waitUntilOpen(name: Name, timeoutMs: number): Promise<boolean>;
  /** Waits until the rows hold the log up to `position`; false after `timeoutMs`, or once `signal` aborts. */
  waitForPosition(name: Name, position: Position, timeoutMs: number, signal?: AbortSignal): Promise<boolean>;
  /** Call it with every event of the follower. When it returns for `switched`, the old file is closed. */
  receive(event: FollowEvent): void;
  /** Closes the files; waiting callers get false. */
  close(): void;
}

interface Waiter {
  readonly isSatisfied: () => boolean;
  readonly settle: (satisfied: boolean) => void;
}

interface Slot {
  readonly name: string;
  readonly waiters: Set<Waiter>;
  state: ReaderStatus["state"];
  position: Position;
  failure: string | null;
  file: string | undefined;
  db: ReadDatabaseFile | undefined;
  /** Whether `onDamage` has been called for the file. */
  isDamageTold: boolean;
  /** Whether `db` is in the transaction that {@link Readers.turnReader}'s queries of this turn share. */
  hasSnapshot: boolean;
  hasCaughtUp: boolean;
}

function slotOf({ name }: { readonly name: string }): Slot {
  return {
    name,
    waiters: new Set(),
    state: "absent",
    position: LOG_START,
    failure: null,
    file: undefined,
    db: undefined,
    isDamageTold: false,
    hasSnapshot: false,
    hasCaughtUp: false,
  };
}

function databaseOf(slot: Slot): ReadDatabaseFile {
  if (slot.db) return slot.db;
  throw new ReadDatabaseError("unavailable", `the read model ${slot.name} has not been opened yet`);
}

/** Begins the snapshot of this turn of the event loop, unless there is one. */
function shareSnapshot(slot: Slot, db: ReadDatabaseFile): void {
  if (slot.hasSnapshot) return;
  // Before it begins, so that one which fails halfway is ended too.
  slot.hasSnapshot = true;
  setImmediate(() => endSnapshot(slot));
  db.beginSnapshot();
}

/** Lets the next query see what was committed meanwhile. A fault of the file is reported by that query. */
function endSnapshot(slot: Slot): void {
  if (!slot.hasSnapshot) return;
  slot.hasSnapshot = false;
  unlessUnavailable(() => slot.db?.rollback());
}

/** Reports damage, which may lie where the follower's own writes never reach. `before` is called before each query. */
function readerOf(
  slot: Slot,
  { onDamage }: ReadersOptions,
  before: (db: ReadDatabaseFile) => void = () => {},
): ReadDatabase {
  const ask = <Result>(run: (db: ReadDatabaseFile) => Result): Result => {
    try {
      const db = databaseOf(slot);
      before(db);
      return run(db);
    } catch (error) {
      const isDamage = error instanceof ReadDatabaseError && error.failure === "damaged";
      if (isDamage && slot.file !== undefined && !slot.isDamageTold) {
        slot.isDamageTold = true;
        onDamage?.(slot.file);
      }
      throw error;
    }
  };
  return {
    run: (sql, ...values) => ask((db) => db.run(sql, ...values)),
    get: (sql, ...values) => ask((db) => db.get(sql, ...values)),
    all: (sql, ...values) => ask((db) => db.all(sql, ...values)),
  };
}

/** Switches to `file`, whose rows hold the log up to `position`, and closes the previous file. */
function openFile(
  slot: Slot,
  { file, position }: { readonly file: string; readonly position: Position },
  options: ReadersOptions,
): void {
  if (slot.file === file) {
    moveTo(slot, position);
    return;
  }
  const db = options.databases.open(join(options.directory, file), "read");
  endSnapshot(slot);
  slot.db?.close();
  slot.db = db;
  slot.file = file;
  // Set, not advanced: a file that replaces a damaged one starts from the beginning.
  slot.position = position;
}

function moveTo(slot: Slot, position: Position): void {
  if (position > slot.position) slot.position = position;
}

function fail(slot: Slot, reason: string): void {
  slot.state = "failed";
  slot.failure = reason;
}

function wake(slot: Slot): void {
  endSnapshot(slot);
  for (const { isSatisfied, settle } of slot.waiters) if (isSatisfied()) settle(true);
}

/** Between these positions no event of a watched type was. */
interface Watch {
  readonly from: Position;
  readonly until: Position;
}

function watchedBy(
  watch: Watch | null,
  { position, hasWatchedEvent }: FollowEvent & { type: "progress" },
): Watch {
  return { from: watch === null || hasWatchedEvent ? position : watch.from, until: position };
}

/** Waits until it is satisfied, checked whenever the slot changes; false after `timeoutMs`, or once `signal` aborts. */
async function wait(
  slot: Slot,
  isSatisfied: () => boolean,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<boolean> {
  if (isSatisfied()) return true;
  if (signal?.aborted) return false;
  return new Promise((resolve) => {
    const abandon = () => settle(false);
    const settle = (satisfied: boolean) => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abandon);
      slot.waiters.delete(waiter);
      resolve(satisfied);
    };
    const waiter: Waiter = { isSatisfied, settle };
    const timer = setTimeout(abandon, timeoutMs);
    signal?.addEventListener("abort", abandon);
    slot.waiters.add(waiter);
  });
}

/** Applies an event about one projection to its slot. */
function receiveOne(slot: Slot, event: FollowEvent, options: ReadersOptions): void {
  switch (event.type) {
    case "opened":
    case "switched":
      openFile(slot, event, options);
      slot.isDamageTold = false;
      slot.state = "behind";
      slot.failure = null;
      break;
    case "behind":
      moveTo(slot, event.position);
      break;
    case "joined":
      slot.state = "live";
      moveTo(slot, event.position);
      break;
    case "failed":
      fail(slot, event.reason);
      break;
    default:
      return;
  }
  wake(slot);
}

function statusOf(slot: Slot, isCaughtUp: boolean): ReaderStatus {
  const { name, state, position, failure, file = null, hasCaughtUp } = slot;
  return { name, state, position, failure, file, hasCaughtUp, isCaughtUp: isCaughtUp && state === "live" };
}

function close(slot: Slot): void {
  for (const waiter of slot.waiters) waiter.settle(false);
  endSnapshot(slot);
  slot.db?.close();
  slot.db = undefined;
  slot.file = undefined;
}

/** Opens the reading side. It opens no file by itself: the follower's events say which files exist. */
export function openReaders<Name extends string>(options: ReadersOptions<Name>): Readers<Name> {
  const slots = new Map<string, Slot>(
    options.projections.map((projection) => [projection.name, slotOf(projection)]),
  );
  let isCaughtUp = false;
  let watch: Watch | null = null;
  const slotNamed = (name: string): Slot => {
    const slot = slots.get(name);
    if (!slot) throw new Error(`there is no read model ${name}`);
    return slot;
  };
  return {
    reader: (name) => readerOf(slotNamed(name), options),
    turnReader(name) {
      const slot = slotNamed(name);
      return readerOf(slot, options, (db) => shareSnapshot(slot, db));
    },
    status: () => [...slots.values()].map((slot) => statusOf(slot, isCaughtUp)),
    position: (name) => slotNamed(name).position,
    noneWatchedUntil(position) {
      if (watch === null || position < watch.from) return null;
      if (position <= watch.until) return watch.until;
      // A follower that is far behind has not seen what is new.
      return isCaughtUp ? position : null;
    },
    async waitUntilOpen(name, timeoutMs) {
      const slot = slotNamed(name);
      return wait(slot, () => slot.db !== undefined, timeoutMs);
    },
    async waitForPosition(name, position, timeoutMs, signal) {
      const slot = slotNamed(name);
      return wait(slot, () => slot.position >= position, timeoutMs, signal);
    },
    receive(event) {
      switch (event.type) {
        case "renewed":
        case "logCutShort":
          return;
        case "interrupted":
          isCaughtUp = false;
          watch = null;
          for (const slot of slots.values()) fail(slot, event.reason);
          return;
        case "progress":
          isCaughtUp = event.caughtUp;
          watch = watchedBy(watch, event);
          for (const slot of slots.values()) {
            if (slot.state !== "live") continue;
            slot.hasCaughtUp ||= isCaughtUp;
            moveTo(slot, event.position);
            wake(slot);
          }
          return;
        default: {
          const slot = slots.get(event.name);
          if (slot) receiveOne(slot, event, options);
        }
      }
    },
    close() {
      for (const slot of slots.values()) close(slot);
    },
  };
}
